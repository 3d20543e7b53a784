// A report made by hand, for the tests of what is made from reports.

#ifndef WEIR_TEST_APP_SAMPLE_REPORT_H_
#define WEIR_TEST_APP_SAMPLE_REPORT_H_

#include "weir/app/report.h"

namespace weir::testing {

// One lcore, one pipeline of three parts, one port.
inline AppReport SampleReport() {
  PipelineSnapshot pipeline;
  pipeline.from = "null:";
  pipeline.to = "wire:a";
  pipeline.received = 1234567;
  pipeline.sent = 1234500;
  pipeline.waiting = 7;
  pipeline.stages = {{.name = "receive",
                      .packets = 1234567,
                      .timed_packets = 100,
                      .timed_tsc = 1250,
                      .drops = {}},
                     {.name = "set-macs",
                      .packets = 1234567,
                      .timed_packets = 100,
                      .timed_tsc = 99,
                      .drops = {{"short", 60}}},
                     {.name = "transmit",
                      .packets = 1234507,
                      .drops = {{"unsent at stop", 0}}}};
  AppReport report;
  report.seconds = 2;
  report.tsc_hz = 2.5e9;
  report.lcores = {{.lcore = 3,
                    .polls = 50000,
                    .busy_polls = 40000,
                    .packets = 1234567,
                    .timed_packets = 1000,
                    .timed_tsc = 20000,
                    .sleeps = 12345,
                    .slept_tsc = 4'000'000'000,
                    .pipelines = {pipeline}}};
  PortReport port;
  port.info.name = "null:";
  port.info.device = "weir0";
  port.info.mac = {{2, 0, 0, 0, 0, 1}};
  port.info.mtu_bytes = 1500;
  port.queues = {{.name = "rx0",
                  .posts = 1235591,
                  .completions = 1234567,
                  .packets = 1234567,
                  .bytes = 79012288,
                  .held_mbufs = 1024,
                  .drops = {}},
                 {.name = "tx0",
                  .posts = 1234500,
                  .completions = 1234400,
                  .packets = 1234500,
                  .bytes = 79008000,
                  .errors = 1,
                  .held_mbufs = 100,
                  .held_packets = 100,
                  .drops = {{"too_long", 5}}}};
  port.device_counters = {{"unmatched", 11}, {"rx_frames", 1234578}};
  report.ports = {port};
  report.mbufs = {.total = 2048,
                  .free = 917,
                  .posted = 1024,
                  .sending = 100,
                  .shortages = 2};
  return report;
}

}  // namespace weir::testing

#endif  // WEIR_TEST_APP_SAMPLE_REPORT_H_
