#include "weir/app/stats_printer.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/app/sample_report.h"

namespace weir {
namespace {

using testing::SampleReport;

TEST(WithCommasTest, GroupsDigitsByThree) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(1000), "1,000");
  EXPECT_EQ(WithCommas(1234567), "1,234,567");
  EXPECT_EQ(WithCommas(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(FormatTableTest, ShowsEveryCountOfTheRun) {
  EXPECT_EQ(FormatTable(SampleReport()),
            R"(--- 2.0 seconds, cycles of 2.50 GHz ---
lcore, stage                                            packets  cycles/packet
lcore 3                                               1,234,567           20.0
  slept 12,345 times, 1.600 s
  null: -> wire:a
    receive                                           1,234,567           12.5
    set-macs                                          1,234,567            1.0
      drop: short                                            60
    transmit                                          1,234,507              -
      drop: unsent at stop                                    0
port, queue                             posts      completions   errors    held
null: (weir0)
  rx0                               1,235,591        1,234,567        0   1,024
  tx0                               1,234,500        1,234,400        1     100
    drop: too_long                          5
  device: unmatched                        11
  device: rx_frames                 1,234,578
mbufs: 2,048 = 917 free + 1,024 posted + 100 sending + 0 in rings + 7 held; 2 shortages
packets: 1,234,567 received + 0 made = 1,234,495 sent + 65 dropped + 0 taken + 7 held
)");
}

TEST(FormatRatesTest, ShowsWhatHappenedBetweenTwoReports) {
  const AppReport before = SampleReport();
  AppReport now = before;
  now.seconds = 4;
  now.ports[0].queues[0].packets += 62500000;
  now.ports[0].queues[0].bytes += 4000000000;
  now.ports[0].queues[1].packets += 1000;
  now.ports[0].queues[1].bytes += 64000;
  now.ports[0].queues[1].drops[0].value += 3;
  now.ports[0].device_counters[0].value += 4;
  now.ports[0].device_counters[1].value += 99;
  EXPECT_EQ(
      RatesHeader() + FormatRates(before, now),
      R"( seconds  port             rx packets/s   rx Mbit/s tx packets/s   tx Mbit/s     drops
     4.0  null:              31,250,000     16000.0          500         0.3         7
)");
}

// The sample with a second RX queue.
AppReport TwoRxQueues() {
  AppReport report = SampleReport();
  PortReport& port = report.ports[0];
  port.info.queues = {.rx_method = RxMethod::kRss,
                      .rx_hash = RxHash::kAddresses,
                      .rx_wanted = 2,
                      .rx = 2};
  QueueStats second = port.queues[0];
  second.name = "rx1";
  port.queues.insert(port.queues.begin() + 1, second);
  return report;
}

TEST(FormatRatesTest, HasALineAQueueIfThereAreSeveral) {
  const AppReport before = TwoRxQueues();
  AppReport now = before;
  now.seconds = 4;
  now.ports[0].queues[0].packets += 2000;
  now.ports[0].queues[0].bytes += 125000;
  now.ports[0].queues[1].packets += 4000;
  now.ports[0].queues[2].packets += 6000;
  now.ports[0].queues[2].drops[0].value += 1;
  now.ports[0].device_counters[0].value += 4;
  EXPECT_EQ(
      FormatRates(before, now),
      R"(     4.0  null:                   3,000         0.5        3,000         0.0         5
     4.0    rx0 tx0               1,000         0.5        3,000         0.0         1
     4.0    rx1                   2,000         0.0            0         0.0         0
)");
}

TEST(FormatTableTest, SaysByWhichMethodFramesComeToSeveralQueues) {
  const std::string table = FormatTable(TwoRxQueues());
  EXPECT_NE(table.find("null: (weir0), 2 RX queues by RSS over addresses, 1 TX "
                       "queue\n  rx0 "),
            std::string::npos);
  EXPECT_NE(table.find("\n  rx1 "), std::string::npos);
}

TEST(FormatTableTest, SaysHowAPortIsThatWasNotUpAllTheTime) {
  AppReport report = SampleReport();
  report.ports[0].state_changes = 2;
  report.ports[0].queues[1].failures = {{"loc_prot", 2}};
  const std::string table = FormatTable(report);
  EXPECT_NE(table.find("null: (weir0), up after 2 changes\n"),
            std::string::npos);
  EXPECT_THAT(table, ::testing::ContainsRegex("\n    failed: loc_prot +2\n"));
  report.ports[0].state = PortState::kDown;
  report.ports[0].state_changes = 0;
  EXPECT_NE(FormatTable(report).find("null: (weir0), down\n"),
            std::string::npos);
}

TEST(FormatRatesTest, CountsTheFramesThatDevicesLost) {
  const AppReport before = SampleReport();
  for (const char* name : {"tx_write_error", "tx_link_down", "tx_no_netdev",
                           "tx_no_peer", "rx_ring_full", "rx_not_ready"}) {
    AppReport now = before;
    now.seconds = 3;
    now.ports[0].device_counters.push_back({name, 17});
    EXPECT_TRUE(FormatRates(before, now).ends_with(" 17\n")) << name;
  }
}

TEST(FormatRatesTest, DoesNotTakePollsForFrames) {
  AppReport before = SampleReport();
  before.ports[0].queues[0].drops = {{"pool-dry", 1}};
  AppReport now = before;
  now.seconds = 3;
  now.ports[0].queues[0].drops[0].value += 99;
  EXPECT_TRUE(FormatRates(before, now).ends_with(" 0\n"));
}

TEST(ConserveTest, SaysDroppedOfWhatATxQueueDropped) {
  AppReport report = SampleReport();
  report.ports[0].queues[1].drops = {{"too-long", 500}, {"refused", 4}};
  const Conservation sum = Conserve(report);
  EXPECT_EQ(sum.sent, 1234500u - 504);
  EXPECT_EQ(sum.dropped, 60u + 504);
  EXPECT_TRUE(sum.holds());
}

// 100 came, 90 of them through a ring, where 4 still are, and on.
TEST(ConserveTest, CountsWhatGoesThroughRingsOnce) {
  AppReport report;
  PipelineSnapshot front;
  front.received = 100;
  front.stages = {{.name = "set-macs", .drops = {{"short", 6}}}};
  front.sent = 94;
  PipelineSnapshot back;
  back.received = 90;
  back.sent = 89;
  back.waiting = 1;
  back.ring = {.name = "ring", .capacity = 64, .size = 4, .high_water = 9};
  report.lcores = {{.lcore = 0, .pipelines = {front, back}}};
  const Conservation sum = Conserve(report);
  EXPECT_EQ(sum.received, 100);
  EXPECT_EQ(sum.sent, 89);
  EXPECT_EQ(sum.dropped, 6);
  EXPECT_EQ(sum.held, 5);
  EXPECT_TRUE(sum.holds());
}

TEST(ConserveTest, SeesWhatIsMissing) {
  AppReport report = SampleReport();
  EXPECT_TRUE(Conserve(report).holds());
  --report.lcores[0].pipelines[0].sent;
  EXPECT_FALSE(Conserve(report).holds());
  EXPECT_NE(FormatTable(report).find("made != "), std::string::npos);
}

TEST(StatsPrinterTest, ShowsRingsIfThereAreAny) {
  AppReport report = testing::SampleReport();
  report.lcores[0].pipelines[0].ring = {
      .name = "rx to worker", .capacity = 1024, .size = 5, .high_water = 1000};
  EXPECT_THAT(FormatTable(report),
              ::testing::HasSubstr(
                  "  rx to worker                                    1,024     "
                  "     5      1,000\n"));
}

}  // namespace
}  // namespace weir
