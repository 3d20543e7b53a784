// Looks at what a port receives: parses it, puts fragments together, verifies
// checksums, and says what was wrong with what was not delivered.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "apps/inspect/options.h"
#include "apps/inspect/recorder.h"
#include "apps/inspect/result_json.h"
#include "apps/inspect/spread.h"
#include "apps/inspect/watched.h"
#include "apps/inspect/watched_reassemble.h"
#include "weir/app/app.h"
#include "weir/app/app_main.h"
#include "weir/base/counter.h"
#include "weir/pipeline/pipeline.h"
#include "weir/port/port.h"
#include "weir/stage/flow_hash.h"
#include "weir/stage/parse.h"
#include "weir/stage/reassemble.h"
#include "weir/stage/reassembly_options.h"
#include "weir/stage/verify_checksums.h"

namespace weir::inspect {
namespace {

// Fragments kept in all: so many datagrams of the largest kind, or so many of
// two fragments.
constexpr uint32_t kLargeDatagrams = 4;
constexpr uint64_t kBytesPerFragment = 2048;
constexpr uint64_t kMinBytes = 65536;

// What becomes of packets, seen from the outlet and from reassembly.
struct Summary {
  Counter delivered;
  ReassemblyCounts reassembly;
  QueueCounts queues;
};

ChecksumRules RulesOf(const Options& options) {
  ChecksumRules rules;
  if (options.verify_l4) return rules;
  for (ChecksumRule* rule :
       {&rules.tcp, &rules.udp, &rules.udp_lite, &rules.sctp, &rules.icmp,
        &rules.icmp6, &rules.igmp}) {
    *rule = ChecksumRule::kIgnore;
  }
  return rules;
}

ReassemblyOptions ReassemblyOf(const Options& options) {
  ReassemblyOptions to;
  if (options.reassembly_timeout.has_value()) {
    const auto nanoseconds = static_cast<uint64_t>(
        absl::ToInt64Nanoseconds(*options.reassembly_timeout));
    to.ipv4_timeout_ns = nanoseconds;
    to.ipv6_timeout_ns = nanoseconds;
  }
  to.clock = ReassemblyClock::kFrames;
  to.max_datagrams = options.max_datagrams;
  to.max_fragments_per_datagram = options.max_fragments;
  to.max_fragments = std::max(2 * options.max_datagrams,
                              kLargeDatagrams * options.max_fragments);
  to.max_bytes = std::max(kMinBytes, to.max_fragments * kBytesPerFragment);
  // A capture has no neighbours to protect: one source may have it all.
  to.max_fragments_per_source = to.max_fragments;
  return to;
}

net::FlowHashOptions HashOf(const Options& options) {
  net::FlowHashOptions to;
  to.key = options.rss_key;
  return to;
}

void Print(const Summary& summary) {
  const ReassemblyCounts& datagrams = summary.reassembly;
  std::printf(
      "%llu delivered; of fragments %llu datagrams complete, %llu timed out, "
      "%llu given up for an overlap, %llu incomplete at the end\n",
      static_cast<unsigned long long>(summary.delivered.value()),
      static_cast<unsigned long long>(datagrams.completed),
      static_cast<unsigned long long>(datagrams.timed_out),
      static_cast<unsigned long long>(datagrams.overlap_abandoned),
      static_cast<unsigned long long>(datagrams.pending_at_end));
  if (summary.queues->size() == 1) return;
  std::string line = "frames by queue:";
  for (const Counter& frames : *summary.queues) {
    absl::StrAppend(&line, " ", frames.value());
  }
  std::printf("%s\n", line.c_str());
}

absl::Status Launch(App& app, Port& port, const Options& options,
                    Reassemble reassemble, Recorder* to, Summary& summary) {
  const ChecksumRules rules = RulesOf(options);
  return app.Launch({.near = port.numa_node()},
                    Pipeline{std::move(port.rx[0]), Number(to),
                             Watched{to, Parse{}}, FlowHash(HashOf(options)),
                             Spread(to, options.rss_table, summary.queues),
                             Watched{to, VerifyChecksums(rules)},
                             WatchedReassemble(to, &summary.reassembly,
                                               std::move(reassemble)),
                             Watched{to, VerifyChecksums(rules)},
                             Deliver(to, &summary.delivered)});
}

absl::Status Inspect(App& app) {
  const absl::StatusOr<Options> options = ReadOptions();
  if (!options.ok()) return options.status();
  const ReassemblyOptions bounds = ReassemblyOf(*options);
  absl::StatusOr<Reassemble> reassemble = Reassemble::Create(bounds);
  if (!reassemble.ok()) return reassemble.status();
  auto ports = app.OpenPorts({.ports = {.timestamps = true},
                              .stage_mbufs = bounds.max_fragments,
                              .empty_records = true});
  if (!ports.ok()) return ports.status();
  if (ports->size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("want exactly 1 port, got ", ports->size()));
  }
  std::unique_ptr<Recorder> recorder;
  if (app.writes_json()) recorder = std::make_unique<Recorder>(app.pool());
  Summary summary;
  summary.queues = std::make_shared<std::vector<Counter>>(options->queues);
  const absl::Status launched =
      Launch(app, (*ports)[0], *options, *std::move(reassemble), recorder.get(),
             summary);
  if (!launched.ok()) return launched;
  if (recorder != nullptr) {
    const FrameView view =
        options->queues == 1 ? FrameView::kFates : FrameView::kQueues;
    app.SetJson([&recorder, &summary, view] {
      return FormatResult(*recorder, summary.reassembly, view);
    });
  }
  app.SetSummary([&summary] { Print(summary); });
  return app.RunUntilSignal();
}

}  // namespace
}  // namespace weir::inspect

int main(int argc, char** argv) {
  return weir::AppMain(
      argc, argv,
      {.about = "Says what is wrong with what a port receives.",
       .examples = "pcap:in.pcap\n"
                   "pcap:in.pcap --json=result.json\n"
                   "xdp:eth0 --duration=1m\n"
                   "pcap:in.pcap --queues=4 --rss_table=128\n"},
      weir::inspect::Inspect);
}
