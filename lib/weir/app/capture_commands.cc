#include "weir/app/capture_commands.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "weir/app/flag_values.h"

namespace weir {
namespace {

absl::StatusOr<CaptureDirection> ReadDirection(const std::string& text) {
  if (text == "both") return CaptureDirection::kBoth;
  if (text == "rx") return CaptureDirection::kReceived;
  if (text == "tx") return CaptureDirection::kSent;
  return absl::InvalidArgumentError(
      absl::StrCat("direction: want rx, tx or both, got ", text));
}

absl::StatusOr<std::chrono::nanoseconds> ReadTime(const std::string& text) {
  const auto time = ParseDuration(text);
  if (time.ok()) return absl::ToChronoNanoseconds(*time);
  return absl::InvalidArgumentError(
      absl::StrCat("time: ", time.status().message()));
}

// Puts what `value` says into `to`; what was wrong before stays the error.
template <typename T, typename U>
void Read(absl::StatusOr<T> value, U& to, absl::Status& status) {
  if (!status.ok()) return;
  status = value.status();
  if (status.ok()) to = *std::move(value);
}

absl::StatusOr<CaptureOptions> ReadOptions(const ControlArguments& from) {
  constexpr uint64_t kNoLcore = std::numeric_limits<uint32_t>::max();
  CaptureOptions options;
  absl::Status status;
  std::string direction;
  std::string time;
  uint64_t lcore = 0;
  uint64_t snaplen = 0;
  Read(from.Text("place"), options.place, status);
  Read(from.Text("file"), options.file, status);
  Read(from.TextOr("direction", "both"), direction, status);
  Read(from.FlagOr("drops", false), options.only_drops, status);
  Read(from.NumberOr("lcore", kNoLcore), lcore, status);
  Read(from.NumberOr("snaplen", options.snaplen_bytes), snaplen, status);
  Read(from.NumberOr("count", 0), options.max_packets, status);
  Read(from.NumberOr("bytes", 0), options.max_file_bytes, status);
  Read(from.TextOr("time", "0"), time, status);
  if (!status.ok()) return status;
  Read(ReadDirection(direction), options.direction, status);
  Read(ReadTime(time), options.max_time, status);
  if (!status.ok()) return status;
  if (from.Has("lcore")) options.lcore = static_cast<uint32_t>(lcore);
  // What is too much stays too much.
  options.snaplen_bytes = static_cast<uint32_t>(
      std::min<uint64_t>(snaplen, std::numeric_limits<uint32_t>::max()));
  return options;
}

absl::StatusOr<ControlJson> Start(CaptureHub& hub,
                                  const ControlArguments& arguments) {
  auto options = ReadOptions(arguments);
  if (!options.ok()) return options.status();
  const auto id = hub.Start(*std::move(options));
  if (!id.ok()) return id.status();
  return ControlJson{{"id", *id}};
}

absl::StatusOr<ControlJson> Stop(CaptureHub& hub,
                                 const ControlArguments& arguments) {
  const auto id = arguments.NumberOr("id", 0);
  if (!id.ok()) return id.status();
  ControlJson stopped = ControlJson::array();
  for (const CaptureStatus& capture : hub.List()) {
    if (capture.state != CaptureStatus::State::kRunning) continue;
    if (arguments.Has("id") && capture.id != *id) continue;
    // One that ended by itself meanwhile is as good as stopped.
    if (hub.Stop(capture.id).ok()) stopped.push_back(capture.id);
  }
  if (arguments.Has("id") && stopped.empty()) return hub.Stop(*id);
  return ControlJson{{"stopped", stopped}};
}

ControlJson ToJson(const CaptureStatus& capture) {
  constexpr const char* kStates[] = {"running", "ending", "ended"};
  return {{"id", capture.id},
          {"state", kStates[static_cast<size_t>(capture.state)]},
          {"place", capture.place},
          {"file", capture.file},
          {"packets", capture.packets},
          {"lost", capture.lost},
          {"file_bytes", capture.file_bytes},
          {"error", capture.error}};
}

}  // namespace

void AddCaptureCommands(ControlService& service, CaptureHub& hub) {
  service.Add("capture start",
              {"place", "file", "direction", "drops", "lcore", "snaplen",
               "count", "bytes", "time"},
              [&hub](const ControlArguments& arguments) {
                return Start(hub, arguments);
              });
  service.Add("capture stop", {"id"},
              [&hub](const ControlArguments& arguments) {
                return Stop(hub, arguments);
              });
  service.Add("capture list", {},
              [&hub](const ControlArguments&) -> absl::StatusOr<ControlJson> {
                ControlJson captures = ControlJson::array();
                for (const CaptureStatus& capture : hub.List()) {
                  captures.push_back(ToJson(capture));
                }
                return ControlJson{{"captures", captures}};
              });
}

}  // namespace weir
