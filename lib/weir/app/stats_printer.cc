#include "weir/app/stats_printer.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "weir/app/queue_text.h"

namespace weir {
namespace {

constexpr double kBitsPerByte = 8;
constexpr double kMega = 1e6;

// The sums of a port that rates are made of.
struct Traffic {
  uint64_t rx_packets = 0;
  uint64_t rx_bytes = 0;
  uint64_t tx_packets = 0;
  uint64_t tx_bytes = 0;
  uint64_t drops = 0;
};

bool IsRx(const QueueStats& queue) { return queue.name.starts_with("rx"); }

// Counters of a device that say that a frame was lost.
bool IsLoss(const NamedCount& counter) {
  constexpr absl::string_view kLosses[] = {
      "out_of_buffer",   "unmatched",     "rx_oversize",    "rx_not_ready",
      "rx_errors",       "rx_ring_full",  "rx_bad_offload", "rx_empty_record",
      "rx_queue_full",   "rx_lost",       "rx_link_down",   "tx_lost",
      "rx_foreign_link", "tx_dropped",    "tx_too_long",    "tx_link_down",
      "tx_no_netdev",    "rx_cq_overrun", "tx_failed",      "tx_no_peer",
      "tx_write_error"};
  return std::ranges::find(kLosses, counter.name) != std::end(kLosses);
}

void Add(const QueueStats& queue, Traffic& sum) {
  (IsRx(queue) ? sum.rx_packets : sum.tx_packets) += queue.packets;
  (IsRx(queue) ? sum.rx_bytes : sum.tx_bytes) += queue.bytes;
  // Those of an RX queue are polls, not frames.
  if (IsRx(queue)) return;
  for (const NamedCount& drop : queue.drops) sum.drops += drop.value;
}

Traffic Sum(const PortReport& port) {
  Traffic sum;
  for (const QueueStats& queue : port.queues) Add(queue, sum);
  for (const NamedCount& counter : port.device_counters) {
    if (IsLoss(counter)) sum.drops += counter.value;
  }
  return sum;
}

// Of the RX queue and the TX queue of number `index`.
Traffic SumOfQueues(const PortReport& port, size_t index) {
  Traffic sum;
  for (const QueueStats& queue : port.queues) {
    if (absl::string_view(queue.name).substr(2) == absl::StrCat(index)) {
      Add(queue, sum);
    }
  }
  return sum;
}

// A second's share of what a count grew by, rounded.
uint64_t PerSecond(uint64_t before, uint64_t now, double seconds) {
  return static_cast<uint64_t>(
      std::llround(static_cast<double>(now - before) / seconds));
}

std::string Megabits(uint64_t before, uint64_t now, double seconds) {
  const double bits = static_cast<double>(now - before) * kBitsPerByte;
  return absl::StrFormat("%.1f", bits / seconds / kMega);
}

// TSC ticks a packet of a stage or an lcore, if any were timed.
template <typename Snapshot>
std::string Cycles(const Snapshot& part) {
  if (part.timed_packets == 0) return "-";
  return absl::StrFormat("%.1f", part.tsc_per_packet());
}

void AppendStage(std::string& out, const StageSnapshot& stage) {
  absl::StrAppendFormat(&out, "    %-40s %18s %14s\n", stage.name,
                        WithCommas(stage.packets), Cycles(stage));
  const auto line = [&out](absl::string_view what, uint64_t count) {
    absl::StrAppendFormat(&out, "      %-38s %18s\n", what, WithCommas(count));
  };
  if (stage.taken != 0) line("taken", stage.taken);
  if (stage.made != 0) line("made", stage.made);
  if (stage.held != 0) line("held", stage.held);
  for (const DropSnapshot& drop : stage.drops) {
    line(absl::StrCat("drop: ", drop.name), drop.packets);
  }
}

void AppendLcores(std::string& out, const AppReport& report) {
  absl::StrAppendFormat(&out, "%-44s %18s %14s\n", "lcore, stage", "packets",
                        "cycles/packet");
  for (const LcoreSnapshot& lcore : report.lcores) {
    absl::StrAppendFormat(&out, "lcore %-38u %18s %14s\n", lcore.lcore,
                          WithCommas(lcore.packets), Cycles(lcore));
    if (lcore.sleeps != 0) {
      absl::StrAppendFormat(
          &out, "  slept %s times, %.3f s\n", WithCommas(lcore.sleeps),
          static_cast<double>(lcore.slept_tsc) / report.tsc_hz);
    }
    for (const PipelineSnapshot& pipeline : lcore.pipelines) {
      absl::StrAppend(&out, "  ", pipeline.from, " -> ", pipeline.to, "\n");
      for (const StageSnapshot& stage : pipeline.stages) {
        AppendStage(out, stage);
      }
    }
  }
}

// Nothing of a port that was up all the time.
std::string DescribeState(const PortReport& port) {
  if (port.state == PortState::kUp && port.state_changes == 0) return "";
  std::string text = absl::StrCat(", ", NameOf(port.state));
  if (port.state_changes != 0) {
    absl::StrAppend(&text, " after ", WithCommas(port.state_changes),
                    port.state_changes == 1 ? " change" : " changes");
  }
  return text;
}

void AppendQueues(std::string& out, const AppReport& report) {
  absl::StrAppendFormat(&out, "%-28s %16s %16s %8s %7s\n", "port, queue",
                        "posts", "completions", "errors", "held");
  for (const PortReport& port : report.ports) {
    absl::StrAppend(&out, port.info.name, " (", port.info.device, ")",
                    DescribeQueues(port.info.queues), DescribeState(port),
                    "\n");
    for (const QueueStats& queue : port.queues) {
      absl::StrAppendFormat(
          &out, "  %-26s %16s %16s %8s %7s\n", queue.name,
          WithCommas(queue.posts), WithCommas(queue.completions),
          WithCommas(queue.errors), WithCommas(queue.held_mbufs));
      for (const NamedCount& failure : queue.failures) {
        absl::StrAppendFormat(&out, "    %-24s %16s\n",
                              absl::StrCat("failed: ", failure.name),
                              WithCommas(failure.value));
      }
      for (const NamedCount& drop : queue.drops) {
        absl::StrAppendFormat(&out, "    %-24s %16s\n",
                              absl::StrCat("drop: ", drop.name),
                              WithCommas(drop.value));
      }
    }
    for (const NamedCount& counter : port.device_counters) {
      absl::StrAppendFormat(&out, "  %-26s %16s\n",
                            absl::StrCat("device: ", counter.name),
                            WithCommas(counter.value));
    }
  }
}

void AppendRings(std::string& out, const AppReport& report) {
  const std::vector<RingSnapshot> rings = RingsOf(report);
  if (rings.empty()) return;
  absl::StrAppendFormat(&out, "%-44s %10s %10s %10s\n", "ring", "capacity",
                        "packets", "at most");
  for (const RingSnapshot& ring : rings) {
    absl::StrAppendFormat(&out, "  %-42s %10s %10s %10s\n", ring.name,
                          WithCommas(ring.capacity), WithCommas(ring.size),
                          WithCommas(ring.high_water));
  }
}

void AppendLaws(std::string& out, const AppReport& report) {
  const MbufLedger& mbufs = report.mbufs;
  absl::StrAppend(&out, "mbufs: ", WithCommas(mbufs.total), " = ",
                  WithCommas(mbufs.free), " free + ", WithCommas(mbufs.posted),
                  " posted + ", WithCommas(mbufs.sending), " sending + ",
                  WithCommas(mbufs.rings), " in rings + ",
                  WithCommas(mbufs.held()), " held; ",
                  WithCommas(mbufs.shortages), " shortages\n");
  const Conservation sum = Conserve(report);
  absl::StrAppend(&out, "packets: ", WithCommas(sum.received), " received + ",
                  WithCommas(sum.made), " made ", sum.holds() ? "=" : "!=", " ",
                  WithCommas(sum.sent), " sent + ", WithCommas(sum.dropped),
                  " dropped + ", WithCommas(sum.taken), " taken + ",
                  WithCommas(sum.held), " held\n");
}

}  // namespace

std::string WithCommas(uint64_t value) {
  const std::string digits = absl::StrCat(value);
  std::string grouped;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) grouped.push_back(',');
    grouped.push_back(digits[i]);
  }
  return grouped;
}

std::string RatesHeader() {
  return absl::StrFormat("%8s  %-16s %12s %11s %12s %11s %9s\n", "seconds",
                         "port", "rx packets/s", "rx Mbit/s", "tx packets/s",
                         "tx Mbit/s", "drops");
}

std::string FormatRates(const AppReport& before, const AppReport& now) {
  const double seconds = now.seconds - before.seconds;
  std::string out;
  const auto line = [&](const std::string& name, const Traffic& a,
                        const Traffic& b) {
    absl::StrAppendFormat(
        &out, "%8.1f  %-16s %12s %11s %12s %11s %9s\n", now.seconds, name,
        WithCommas(PerSecond(a.rx_packets, b.rx_packets, seconds)),
        Megabits(a.rx_bytes, b.rx_bytes, seconds),
        WithCommas(PerSecond(a.tx_packets, b.tx_packets, seconds)),
        Megabits(a.tx_bytes, b.tx_bytes, seconds),
        WithCommas(b.drops - a.drops));
  };
  for (size_t i = 0; i < now.ports.size(); ++i) {
    const PortReport& old_port = before.ports[i];
    const PortReport& port = now.ports[i];
    line(port.info.name, Sum(old_port), Sum(port));
    const size_t queues = std::max(port.info.queues.rx, port.info.queues.tx);
    for (size_t j = 0; queues > 1 && j < queues; ++j) {
      const std::string name = absl::StrCat(
          " ", j < port.info.queues.rx ? absl::StrCat(" rx", j) : "",
          j < port.info.queues.tx ? absl::StrCat(" tx", j) : "");
      line(name, SumOfQueues(old_port, j), SumOfQueues(port, j));
    }
  }
  return out;
}

std::string FormatTable(const AppReport& report) {
  std::string out =
      absl::StrFormat("--- %.1f seconds, cycles of %.2f GHz ---\n",
                      report.seconds, report.tsc_hz / 1e9);
  AppendLcores(out, report);
  AppendRings(out, report);
  AppendQueues(out, report);
  AppendLaws(out, report);
  return out;
}

}  // namespace weir
