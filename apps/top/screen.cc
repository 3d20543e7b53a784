#include "apps/top/screen.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace weir::top {
namespace {

using Labels = Metric::Labels;
using Lines = std::vector<std::string>;

constexpr double kNsPerSecond = 1e9;

// 950, 12.3k, 4.56M: three digits that matter.
std::string Short(double value) {
  constexpr absl::string_view kUnits = "kMGTPE";
  if (value < 1000) return absl::StrFormat("%.0f", value);
  size_t unit = 0;
  for (value /= 1000; value >= 999.5 && unit + 1 < kUnits.size(); ++unit) {
    value /= 1000;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return absl::StrFormat("%.*f%c", decimals, value, kUnits[unit]);
}

// Two samples and what lies between them.
class Between {
 public:
  Between(const Sample& before, const Sample& now)
      : before_(before),
        now_(now),
        seconds_(before.error.empty() &&
                         now.written_unix_ns > before.written_unix_ns
                     ? static_cast<double>(now.written_unix_ns -
                                           before.written_unix_ns) /
                           kNsPerSecond
                     : 0) {}

  const Sample& now() const { return now_; }
  uint64_t Level(absl::string_view family, const Labels& labels) const {
    return now_.Sum(family, labels);
  }
  uint64_t Grown(absl::string_view family, const Labels& labels) const {
    const uint64_t before = before_.Sum(family, labels);
    const uint64_t now = now_.Sum(family, labels);
    return now > before ? now - before : 0;
  }
  std::string Rate(absl::string_view family, const Labels& labels,
                   double factor = 1) const {
    if (seconds_ == 0) return "-";
    return Short(static_cast<double>(Grown(family, labels)) * factor /
                 seconds_);
  }
  // Per cent that `part` has of `whole`.
  std::string Share(absl::string_view part, absl::string_view whole,
                    const Labels& labels) const {
    const uint64_t all = Grown(whole, labels);
    if (all == 0) return "-";
    return absl::StrFormat("%.1f%%",
                           100.0 * static_cast<double>(Grown(part, labels)) /
                               static_cast<double>(all));
  }
  // Per cent that `cycles` were of the time. A sample has the time at which it
  // was written, a little after its counting: where that was late once, more
  // cycles than time lie between two, and mean all of it.
  std::string OfTime(absl::string_view cycles, const Labels& labels) const {
    const auto all =
        seconds_ * static_cast<double>(now_.Sum("weir_tsc_hertz", {}));
    if (all == 0) return "-";
    return absl::StrFormat(
        "%.1f%%",
        100.0 *
            std::min(static_cast<double>(Grown(cycles, labels)) / all, 1.0));
  }
  std::string PerPacket(absl::string_view cycles, absl::string_view packets,
                        const Labels& labels) const {
    const uint64_t all = Grown(packets, labels);
    if (all == 0) return "-";
    return absl::StrFormat("%.1f", static_cast<double>(Grown(cycles, labels)) /
                                       static_cast<double>(all));
  }

 private:
  const Sample& before_;
  const Sample& now_;
  double seconds_;
};

// The different values of `key` among metrics of `family` with `labels`.
std::vector<std::string> Values(const Sample& sample, absl::string_view family,
                                const Labels& labels, absl::string_view key) {
  std::vector<std::string> values;
  for (const Metric& metric : sample.metrics) {
    if (metric.name != family) continue;
    std::string value(metric.label(key));
    if (metric.Has(labels) &&
        std::ranges::find(values, value) == values.end()) {
      values.push_back(std::move(value));
    }
  }
  return values;
}

Labels With(Labels labels, absl::string_view key, std::string value) {
  labels.emplace_back(std::string(key), std::move(value));
  return labels;
}

// A line for each reason that was ever given.
void AddDrops(const Between& between, absl::string_view family,
              const Labels& labels, Lines& lines) {
  for (const std::string& reason :
       Values(between.now(), family, labels, "reason")) {
    const Labels one = With(labels, "reason", reason);
    const uint64_t sum = between.Level(family, one);
    if (sum == 0) continue;
    lines.push_back(absl::StrFormat("      %-42s %9s/s %12u",
                                    absl::StrCat("drop: ", reason),
                                    between.Rate(family, one), sum));
  }
}

void AddStage(const Between& between, const Labels& labels,
              absl::string_view name, Lines& lines) {
  const uint64_t held = between.Level("weir_stage_held_packets", labels);
  lines.push_back(absl::StrFormat(
      "    %-44s %9s/s %9s%s", name, between.Rate("weir_stage_packets", labels),
      between.PerPacket("weir_stage_timed_cycles", "weir_stage_timed_packets",
                        labels),
      held == 0 ? "" : absl::StrCat("  holds ", held)));
  AddDrops(between, "weir_stage_dropped_packets", labels, lines);
}

void AddPipeline(const Between& between, const Labels& labels, Lines& lines) {
  constexpr absl::string_view kFamily = "weir_pipeline_sent_packets";
  for (const std::string& from :
       Values(between.now(), kFamily, labels, "from")) {
    for (const std::string& to : Values(between.now(), kFamily, labels, "to")) {
      const uint64_t waiting =
          between.Level("weir_pipeline_waiting_packets", labels);
      lines.push_back(absl::StrCat(
          "  ", from, " -> ", to,
          waiting == 0 ? "" : absl::StrCat("  (", waiting, " wait)")));
    }
  }
  for (const std::string& position :
       Values(between.now(), "weir_stage_packets", labels, "position")) {
    const Labels at = With(labels, "position", position);
    for (const std::string& stage :
         Values(between.now(), "weir_stage_packets", at, "stage")) {
      AddStage(between, With(at, "stage", stage), stage, lines);
    }
  }
}

void AddLcores(const Between& between, Lines& lines) {
  lines.push_back(absl::StrFormat("%-48s %11s %9s %6s  %s", "lcore, stage",
                                  "packets", "cycles", "busy", "slept"));
  for (const std::string& lcore :
       Values(between.now(), "weir_lcore_polls", {}, "lcore")) {
    const Labels labels = {{"lcore", lcore}};
    lines.push_back(absl::StrFormat(
        "lcore %-42s %9s/s %9s %6s  %s", lcore,
        between.Rate("weir_lcore_packets", labels),
        between.PerPacket("weir_lcore_timed_cycles", "weir_lcore_timed_packets",
                          labels),
        between.Share("weir_lcore_busy_polls", "weir_lcore_polls", labels),
        between.OfTime("weir_lcore_slept_cycles", labels)));
    for (const std::string& pipeline :
         Values(between.now(), "weir_stage_packets", labels, "pipeline")) {
      AddPipeline(between, With(labels, "pipeline", pipeline), lines);
    }
  }
}

// How full a ring is, in ten steps.
std::string Bar(uint64_t size, uint64_t capacity) {
  constexpr uint64_t kSteps = 10;
  const uint64_t filled =
      capacity == 0
          ? 0
          : std::min(kSteps, (size * kSteps + capacity - 1) / capacity);
  return absl::StrCat("[", std::string(filled, '#'),
                      std::string(kSteps - filled, '.'), "]");
}

void AddRings(const Between& between, Lines& lines) {
  const auto rings = Values(between.now(), "weir_ring_packets", {}, "ring");
  if (rings.empty()) return;
  lines.push_back(absl::StrFormat("%-40s %12s %8s %8s %8s", "ring", "",
                                  "packets", "at most", "of"));
  for (const std::string& ring : rings) {
    const Labels labels = {{"ring", ring}};
    const uint64_t size = between.Level("weir_ring_packets", labels);
    const uint64_t capacity =
        between.Level("weir_ring_capacity_packets", labels);
    lines.push_back(absl::StrFormat(
        "  %-38s %12s %8u %8u %8u", ring, Bar(size, capacity), size,
        between.Level("weir_ring_high_water_packets", labels), capacity));
  }
}

// Nothing of a port that is up.
absl::string_view StateOf(const Between& between, const Labels& port) {
  if (between.Level("weir_port_gone", port) != 0) return "  GONE";
  if (Values(between.now(), "weir_port_up", port, "port").empty()) return "";
  return between.Level("weir_port_up", port) == 0 ? "  DOWN" : "";
}

void AddQueues(const Between& between, Lines& lines) {
  constexpr absl::string_view kFamily = "weir_queue_packets";
  constexpr double kMegabitsPerByte = 8e-6;
  lines.push_back(absl::StrFormat("%-34s %11s %13s %9s %8s", "port, queue",
                                  "packets", "Mbit", "errors", "held"));
  for (const std::string& port : Values(between.now(), kFamily, {}, "port")) {
    for (const std::string& device :
         Values(between.now(), kFamily, {{"port", port}}, "device")) {
      const Labels place = {{"port", port}, {"device", device}};
      lines.push_back(
          absl::StrCat(port, " (", device, ")", StateOf(between, place)));
      for (const std::string& queue :
           Values(between.now(), kFamily, place, "queue")) {
        const Labels labels = With(place, "queue", queue);
        lines.push_back(absl::StrFormat(
            "  %-32s %9s/s %11s/s %9u %8u", queue,
            between.Rate(kFamily, labels),
            between.Rate("weir_queue_bytes", labels, kMegabitsPerByte),
            between.Level("weir_queue_errors", labels),
            between.Level("weir_queue_held_mbufs", labels)));
        AddDrops(between, "weir_queue_dropped_packets", labels, lines);
      }
    }
  }
}

void AddMbufs(const Between& between, Lines& lines) {
  std::string line =
      absl::StrCat("mbufs: ", between.Level("weir_mbufs", {}), " =");
  bool is_first = true;
  for (const std::string& where :
       Values(between.now(), "weir_mbufs", {}, "where")) {
    absl::StrAppend(&line, is_first ? " " : " + ",
                    between.Level("weir_mbufs", {{"where", where}}), " ",
                    where);
    is_first = false;
  }
  absl::StrAppend(&line, "; ", between.Level("weir_mbuf_shortages", {}),
                  " shortages");
  lines.push_back(std::move(line));
}

// Names are what others say: terminals must not take them for commands.
void RemoveControls(Lines& lines) {
  for (std::string& line : lines) {
    std::ranges::replace_if(
        line, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  }
}

Lines AllLines(const Sample& before, const Sample& now) {
  Lines lines;
  const double seconds =
      static_cast<double>(now.Sum("weir_run_milliseconds", {})) / 1000;
  lines.push_back(absl::StrFormat("%s (%u)%s, %.1f s", now.app, now.pid,
                                  now.is_alive ? "" : ", ended", seconds));
  if (!now.error.empty()) {
    lines.push_back(absl::StrCat("  ", now.error));
    return lines;
  }
  const Between between(before, now);
  AddLcores(between, lines);
  AddRings(between, lines);
  AddQueues(between, lines);
  AddMbufs(between, lines);
  if (now.omitted != 0) {
    lines.push_back(absl::StrCat(now.omitted, " counters found no room"));
  }
  return lines;
}

}  // namespace

std::vector<std::string> FormatScreen(const Sample& before, const Sample& now) {
  Lines lines = AllLines(before, now);
  RemoveControls(lines);
  return lines;
}

}  // namespace weir::top
