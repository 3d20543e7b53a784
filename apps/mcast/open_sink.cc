#include "apps/mcast/open_sink.h"

#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "apps/mcast/stream_sink.h"
#include "apps/mcast/udp_sink.h"
#include "weir/mbuf/mbuf.h"

namespace weir::mcast {
namespace {

using Opened = absl::StatusOr<std::unique_ptr<Sink>>;

absl::Status WrongValue(const std::string& to) {
  return absl::InvalidArgumentError(
      absl::StrCat("--to: want none, stdout, file:PATH, pcap:PATH or "
                   "udp:HOST:PORT, got ",
                   to.empty() ? "nothing" : to));
}

// "HOST:PORT"; HOST may be in brackets, and has to if it has colons.
Opened OpenUdp(absl::string_view target, const std::string& to) {
  const size_t colon = target.rfind(':');
  if (colon == absl::string_view::npos || colon + 1 == target.size()) {
    return WrongValue(to);
  }
  absl::string_view host = target.substr(0, colon);
  const bool in_brackets =
      absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  if (host.empty() || (!in_brackets && absl::StrContains(host, ":"))) {
    return WrongValue(to);
  }
  return UdpSink::Open(std::string(host),
                       std::string(target.substr(colon + 1)));
}

// Stands in a plan for what it does not open.
class PlannedSink final : public Sink {
 public:
  Outcome Deliver(std::span<Mbuf* const>) noexcept override { return {}; }
  int failure() const noexcept override { return 0; }
  absl::Status FailureStatus(int) const override { return absl::OkStatus(); }
};

Opened Open(const std::string& to, bool only_plan) {
  if (only_plan && to != "stdout" && !FileOf(to).empty()) {
    return std::make_unique<PlannedSink>();
  }
  absl::string_view rest = to;
  if (to == "stdout") return StreamSink::TakeStandardOutput();
  if (absl::ConsumePrefix(&rest, "file:") && !rest.empty()) {
    return StreamSink::Open(std::string(rest), StreamSink::Format::kBytes);
  }
  if (absl::ConsumePrefix(&rest, "pcap:") && !rest.empty()) {
    return StreamSink::Open(std::string(rest), StreamSink::Format::kPcap);
  }
  if (absl::ConsumePrefix(&rest, "udp:")) return OpenUdp(rest, to);
  return WrongValue(to);
}

}  // namespace

absl::StatusOr<std::shared_ptr<Sink>> OpenSink(const std::string& to,
                                               bool only_plan) {
  if (to == "none") return std::shared_ptr<Sink>();
  auto sink = Open(to, only_plan);
  if (!sink.ok()) return sink.status();
  return std::shared_ptr<Sink>(*std::move(sink));
}

std::string FileOf(const std::string& to) {
  absl::string_view path = to;
  if (path == "stdout") return "/dev/stdout";
  const bool is_file = absl::ConsumePrefix(&path, "file:") ||
                       absl::ConsumePrefix(&path, "pcap:");
  return is_file ? std::string(path) : std::string();
}

bool WantsTimes(const std::string& to) { return absl::StartsWith(to, "pcap:"); }

}  // namespace weir::mcast
