#include "apps/mcast/sequence_report.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "weir/app/stats_printer.h"
#include "weir/net/ip_text.h"

namespace weir::mcast {
namespace {

using Json = nlohmann::ordered_json;

struct Percentile {
  const char* name;
  double fraction;
};
constexpr Percentile kPercentiles[] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};

std::string Endpoint(const net::IpAddress& address, uint16_t port) {
  const std::string text = net::ToString(address);
  return address.index() == 0 ? absl::StrCat(text, ":", port)
                              : absl::StrCat("[", text, "]:", port);
}

std::string NameOf(const StreamName& name) {
  std::string text =
      absl::StrCat(Endpoint(name.source, name.source_port), " > ",
                   Endpoint(name.destination, name.destination_port));
  if (name.id != 0) absl::StrAppendFormat(&text, " %08x", name.id);
  return text;
}

// In an order that does not depend on their places.
std::vector<StreamReport> Sorted(std::vector<StreamReport> streams) {
  std::sort(streams.begin(), streams.end(),
            [](const StreamReport& a, const StreamReport& b) {
              return NameOf(a.name) < NameOf(b.name);
            });
  return streams;
}
std::vector<LinePairReport> Sorted(std::vector<LinePairReport> pairs) {
  std::sort(pairs.begin(), pairs.end(),
            [](const LinePairReport& a, const LinePairReport& b) {
              return a.pair != b.pair ? a.pair < b.pair : a.id < b.id;
            });
  return pairs;
}

void AppendRow(std::string& text, const std::string& name,
               const SequenceTotals& totals, const std::string& rest) {
  absl::StrAppendFormat(&text, "%-44s %13s %11s %11s %11s %9s %8s  %s\n", name,
                        WithCommas(totals.received), WithCommas(totals.lost),
                        WithCommas(totals.late), WithCommas(totals.duplicates),
                        WithCommas(totals.too_old), WithCommas(totals.restarts),
                        rest);
}

std::string Microseconds(uint64_t ns) {
  return absl::StrFormat("%.1f us", static_cast<double>(ns) / 1000);
}

void AppendLatency(std::string& text, const LatencySnapshot& latency) {
  if (latency.count == 0 && latency.negative == 0) return;
  absl::StrAppend(&text, "latency: min ", Microseconds(latency.min_ns));
  for (const Percentile& one : kPercentiles) {
    absl::StrAppend(&text, ", ", one.name, " ",
                    Microseconds(latency.Percentile(one.fraction)));
  }
  absl::StrAppend(&text, ", max ", Microseconds(latency.max_ns));
  if (latency.negative != 0) {
    absl::StrAppend(&text, "; ", WithCommas(latency.negative),
                    " came before they were sent: the clocks do not agree");
  }
  absl::StrAppend(&text, "\n");
}

Json ToJson(const SequenceTotals& totals) {
  return {{"received", totals.received}, {"lost", totals.lost},
          {"late", totals.late},         {"duplicates", totals.duplicates},
          {"too_old", totals.too_old},   {"restarts", totals.restarts}};
}

Json ToJson(const LatencySnapshot& latency) {
  Json all = {{"count", latency.count},
              {"negative", latency.negative},
              {"min_ns", latency.min_ns},
              {"mean_ns", latency.mean_ns()}};
  for (const Percentile& one : kPercentiles) {
    all[absl::StrCat(one.name, "_ns")] = latency.Percentile(one.fraction);
  }
  all["max_ns"] = latency.max_ns;
  return all;
}

Json ToJson(const LinePairReport& report, const LinePair& pair) {
  Json all = ToJson(report.merged);
  if (report.id != 0) all["ssrc"] = report.id;
  Json lines = Json::array();
  for (size_t i = 0; i < 2; ++i) {
    Json line = {{"group", net::ToString(pair.groups[i])},
                 {"first", report.first[i]},
                 {"filled", report.filled_on(i)}};
    line.update(ToJson(report.lines[i]));
    lines.push_back(std::move(line));
  }
  all["lines"] = std::move(lines);
  return all;
}

}  // namespace

std::string SequenceTable(const SequenceStats& stats,
                          const std::vector<LinePair>& pairs) {
  std::string text = absl::StrFormat("\n%-44s %13s %11s %11s %11s %9s %8s\n",
                                     "numbers of", "received", "lost", "late",
                                     "duplicate", "too old", "restarts");
  for (const StreamReport& stream : Sorted(stats.Streams())) {
    AppendRow(text, NameOf(stream.name), stream.totals,
              stream.name.id == 0
                  ? ""
                  : absl::StrCat("jitter ", Microseconds(stream.jitter_ns)));
  }
  for (const LinePairReport& report : Sorted(stats.Pairs())) {
    const LinePair& pair = pairs[report.pair];
    std::string both = "both lines";
    if (report.id != 0) absl::StrAppendFormat(&both, " %08x", report.id);
    for (size_t i = 0; i < 2; ++i) {
      AppendRow(text,
                absl::StrCat(i == 0 ? "line A " : "line B ",
                             net::ToString(pair.groups[i])),
                report.lines[i],
                absl::StrCat("first ", WithCommas(report.first[i]),
                             ", missing here only ",
                             WithCommas(report.filled_on(i))));
    }
    AppendRow(text, both, report.merged, "");
  }
  if (stats.retired() != SequenceTotals{}) {
    AppendRow(text, "streams that are over", stats.retired(), "");
  }
  AppendLatency(text, stats.Latency());
  if (stats.unnumbered() != 0) {
    absl::StrAppend(&text, WithCommas(stats.unnumbered()),
                    " datagrams without a number\n");
  }
  if (stats.no_room() != 0) {
    absl::StrAppend(&text, WithCommas(stats.no_room()),
                    " datagrams of streams beyond those there is room for\n");
  }
  return text;
}

std::string SequenceRates(const SequenceStats& stats, SequenceTotals& before) {
  SequenceTotals now = stats.retired();
  for (const StreamReport& stream : stats.Streams()) now += stream.totals;
  for (const LinePairReport& pair : stats.Pairs()) now += pair.merged;
  const SequenceTotals then = std::exchange(before, now);
  std::string text = absl::StrCat(
      "  numbers: lost ", static_cast<int64_t>(now.lost - then.lost), ", late ",
      WithCommas(now.late - then.late), ", twice ",
      WithCommas(now.duplicates - then.duplicates));
  const LatencySnapshot latency = stats.Latency();
  if (latency.count != 0) {
    absl::StrAppend(&text, "; latency so far p50 ",
                    Microseconds(latency.Percentile(0.5)), ", p99 ",
                    Microseconds(latency.Percentile(0.99)), ", max ",
                    Microseconds(latency.max_ns));
  }
  return absl::StrCat(text, "\n");
}

std::string SequenceJson(const SequenceStats& stats,
                         const std::vector<LinePair>& pairs) {
  Json streams = Json::array();
  for (const StreamReport& stream : Sorted(stats.Streams())) {
    Json one = {{"source", net::ToString(stream.name.source)},
                {"source_port", stream.name.source_port},
                {"group", net::ToString(stream.name.destination)},
                {"udp_port", stream.name.destination_port}};
    if (stream.name.id != 0) {
      one["ssrc"] = stream.name.id;
      one["jitter_ns"] = stream.jitter_ns;
    }
    one.update(ToJson(stream.totals));
    streams.push_back(std::move(one));
  }
  Json merged = Json::array();
  for (const LinePairReport& report : Sorted(stats.Pairs())) {
    merged.push_back(ToJson(report, pairs[report.pair]));
  }
  const Json all = {
      {"streams", std::move(streams)},    {"pairs", std::move(merged)},
      {"over", ToJson(stats.retired())},  {"latency", ToJson(stats.Latency())},
      {"unnumbered", stats.unnumbered()}, {"no_room", stats.no_room()}};
  return all.dump();
}

}  // namespace weir::mcast
