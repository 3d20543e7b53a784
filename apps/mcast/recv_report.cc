#include "apps/mcast/recv_report.h"

#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/mcast/sequence_report.h"
#include "weir/app/stats_printer.h"

namespace weir::mcast {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

// "1.23 G".
std::string WithUnit(double value) {
  constexpr const char* kUnits[] = {"", "k", "M", "G", "T"};
  size_t unit = 0;
  for (; value >= 999.95 && unit < 4; ++unit) value /= 1000;
  return unit == 0 ? absl::StrFormat("%.0f ", value)
                   : absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

}  // namespace

RecvReport::RecvReport(Reception reception, uint16_t udp_port, std::string to)
    : reception_(std::move(reception)),
      udp_port_(udp_port),
      to_(std::move(to)),
      last_(Clock::now()) {}

std::vector<RecvReport::Line> RecvReport::Lines() const {
  std::map<net::IpAddress, Line> lines;
  for (const auto& groups : reception_.groups) {
    for (const auto& [group, joined] : groups->joined()) {
      lines[group] = {.group = group,
                      .method = std::string(NameOf(joined.method)),
                      .interest = joined.interest,
                      .count = {.group = group}};
    }
  }
  for (const auto& received : reception_.received) {
    for (const GroupCount& count : received->rows()) {
      Line& line = lines[count.group];
      line.group = count.group;
      line.count.datagrams += count.datagrams;
      line.count.bytes += count.bytes;
      if (line.method.empty()) line.method = "left";
    }
  }
  std::vector<Line> all;
  for (auto& [group, line] : lines) all.push_back(std::move(line));
  return all;
}

std::string RecvReport::Rates() {
  const Clock::time_point now = Clock::now();
  const double seconds =
      std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  std::string text;
  for (const Line& line : Lines()) {
    const GroupCount before = std::exchange(before_[line.group], line.count);
    const auto datagrams =
        static_cast<double>(line.count.datagrams - before.datagrams);
    const auto bytes = static_cast<double>(line.count.bytes - before.bytes);
    absl::StrAppendFormat(
        &text, "  %-30s %12sdatagrams/s %10sbit/s\n", net::ToString(line.group),
        WithUnit(datagrams / seconds), WithUnit(8 * bytes / seconds));
  }
  if (reception_.sequence != nullptr) {
    absl::StrAppend(&text,
                    SequenceRates(*reception_.sequence, numbers_before_));
  }
  return text;
}

std::string RecvReport::Table() const {
  std::string text = absl::StrFormat("\n%-30s %-12s %14s %18s\n", "group",
                                     "method", "datagrams", "payload bytes");
  for (const Line& line : Lines()) {
    absl::StrAppendFormat(&text, "%-30s %-12s %14s %18s\n",
                          net::ToString(line.group), line.method,
                          WithCommas(line.count.datagrams),
                          WithCommas(line.count.bytes));
  }
  uint64_t others = 0;
  for (const auto& received : reception_.received) others += received->others();
  if (others != 0) {
    absl::StrAppendFormat(&text, "%-30s %-12s %14s\n", "others", "",
                          WithCommas(others));
  }
  const DeliveryCounts& delivered = *reception_.delivered;
  absl::StrAppend(&text, to_ == "none" ? "counted " : "delivered ",
                  WithCommas(delivered.datagrams.value()), " datagrams, ",
                  WithCommas(delivered.bytes.value()), " bytes");
  if (const uint64_t partial = delivered.partial_bytes.value(); partial != 0) {
    absl::StrAppend(&text, ", and ", WithCommas(partial), " bytes of one more");
  }
  if (to_ != "none") absl::StrAppend(&text, " to ", to_);
  if (const uint64_t returned = delivered.returned.value(); returned != 0) {
    absl::StrAppend(&text, "; ", WithCommas(returned),
                    " of them came back by ICMP");
  }
  if (const uint64_t refreshes = Refreshes(); refreshes != 0) {
    absl::StrAppend(&text, "; groups said again for a link that came up: ",
                    WithCommas(refreshes));
  }
  absl::StrAppend(&text, "\n");
  if (reception_.sequence != nullptr) {
    absl::StrAppend(&text,
                    SequenceTable(*reception_.sequence, reception_.pairs));
  }
  return text;
}

uint64_t RecvReport::Refreshes() const {
  uint64_t sum = 0;
  for (const auto& groups : reception_.groups) sum += groups->refreshes();
  return sum;
}

std::string RecvReport::GroupsJson() const {
  Json groups = Json::array();
  for (const Line& line : Lines()) {
    Json one = {{"group", net::ToString(line.group)},
                {"udp_port", udp_port_},
                {"method", line.method},
                {"datagrams", line.count.datagrams},
                {"bytes", line.count.bytes}};
    if (!line.interest.sources.empty()) {
      Json sources = Json::array();
      for (const net::IpAddress& source : line.interest.sources) {
        sources.push_back(net::ToString(source));
      }
      one["sources"] = sources;
    }
    groups.push_back(std::move(one));
  }
  return groups.dump();
}

std::string RecvReport::DeliveryJson() const {
  const DeliveryCounts& counts = *reception_.delivered;
  const Json all = {{"to", to_},
                    {"datagrams", counts.datagrams.value()},
                    {"bytes", counts.bytes.value()},
                    {"partial_bytes", counts.partial_bytes.value()},
                    {"refused", counts.refused.value()},
                    {"failed", counts.failed.value()},
                    {"abandoned", counts.abandoned.value()},
                    {"returned", counts.returned.value()},
                    {"beyond_count", counts.surplus.value()},
                    {"refreshes", Refreshes()}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weir::mcast
