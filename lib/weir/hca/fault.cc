#include "weir/hca/fault.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "weir/hca/backend/impair/impairment.h"

namespace weir::hca {
namespace {

using Kind = Fault::Kind;

struct KindName {
  absl::string_view name;
  Kind kind;
};
constexpr std::array<KindName, 8> kKinds = {
    {{"send_error", Kind::kSendError},
     {"recv_error", Kind::kReceiveError},
     {"qp_error", Kind::kQpError},
     {"cq_overrun", Kind::kCqOverrun},
     {"port_down", Kind::kPortDown},
     {"port_up", Kind::kPortUp},
     {"remove", Kind::kRemove},
     {"send_stall", Kind::kSendStall}}};

struct StatusName {
  absl::string_view name;
  ibv_wc_status status;
};
constexpr std::array<StatusName, 6> kStatuses = {
    {{"loc_len", IBV_WC_LOC_LEN_ERR},
     {"loc_qp_op", IBV_WC_LOC_QP_OP_ERR},
     {"loc_prot", IBV_WC_LOC_PROT_ERR},
     {"loc_access", IBV_WC_LOC_ACCESS_ERR},
     {"fatal", IBV_WC_FATAL_ERR},
     {"general", IBV_WC_GENERAL_ERR}}};

absl::Status Bad(absl::string_view object, absl::string_view text,
                 absl::string_view want) {
  return absl::InvalidArgumentError(
      absl::StrCat(object, ": \"", text, "\": want ", want));
}

// Puts `what`, behind the colon, into `fault`.
absl::Status ReadDetail(absl::string_view what, absl::string_view text,
                        absl::string_view object, Fault& fault) {
  if (fault.kind == Kind::kSendError || fault.kind == Kind::kReceiveError) {
    const auto* const it =
        std::ranges::find(kStatuses, what, &StatusName::name);
    if (it == kStatuses.end()) {
      return Bad(object, text,
                 "one of loc_len, loc_qp_op, loc_prot, loc_access, fatal, "
                 "general behind the colon");
    }
    fault.status = it->status;
    return absl::OkStatus();
  }
  if (fault.kind == Kind::kPortDown || fault.kind == Kind::kSendStall) {
    const std::optional<uint64_t> time = ParseTimeNs(what);
    if (!time.has_value() || *time == 0) {
      return Bad(object, text, "a time up to 10s behind the colon, as in 50ms");
    }
    fault.duration_ns = *time;
    return absl::OkStatus();
  }
  return Bad(object, text, "nothing behind the name");
}

uint64_t FramesOf(Kind kind, const FaultSchedule::Position& at) noexcept {
  switch (kind) {
    case Kind::kSendError:
    case Kind::kSendStall:
      return at.sent;
    case Kind::kReceiveError:
      return at.received;
    default:
      return at.sent + at.received;
  }
}

bool Concerns(Kind kind, FaultSchedule::Direction direction) noexcept {
  if (direction == FaultSchedule::Direction::kSend) {
    return kind != Kind::kReceiveError;
  }
  return kind != Kind::kSendError && kind != Kind::kSendStall;
}

bool IsDue(const ScheduledFault& fault,
           const FaultSchedule::Position& at) noexcept {
  return FramesOf(fault.fault.kind, at) + 1 >= fault.at_frame;
}

}  // namespace

absl::StatusOr<Fault> ParseFault(absl::string_view text,
                                 absl::string_view object) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  const auto* const it =
      std::ranges::find(kKinds, parts.first, &KindName::name);
  if (it == kKinds.end()) {
    return Bad(object, text,
               "send_error, recv_error, qp_error, cq_overrun, port_down, "
               "port_up, remove or send_stall");
  }
  Fault fault{.kind = it->kind};
  if (fault.kind == Kind::kSendError) fault.status = IBV_WC_LOC_QP_OP_ERR;
  if (fault.kind == Kind::kReceiveError) fault.status = IBV_WC_LOC_PROT_ERR;
  if (parts.first.size() == text.size()) return fault;
  const absl::Status read = ReadDetail(parts.second, text, object, fault);
  if (!read.ok()) return read;
  return fault;
}

absl::StatusOr<std::vector<ScheduledFault>> ParseFaults(const DeviceKey& key) {
  std::vector<ScheduledFault> faults;
  const absl::string_view list = key.Option("fault", "");
  if (list.empty()) return faults;
  for (const absl::string_view entry : absl::StrSplit(list, '+')) {
    // NAME@N[:WHAT]
    const size_t at = entry.find('@');
    const size_t colon = std::min(entry.find(':'), entry.size());
    uint64_t frame = 0;
    if (at == absl::string_view::npos || at > colon ||
        !absl::SimpleAtoi(entry.substr(at + 1, colon - at - 1), &frame) ||
        frame == 0) {
      return Bad(absl::StrCat(key.text, ": fault"), entry,
                 "NAME@N, where N is the number of a frame, from 1");
    }
    const std::string text =
        absl::StrCat(entry.substr(0, at), entry.substr(colon));
    const absl::StatusOr<Fault> fault =
        ParseFault(text, absl::StrCat(key.text, ": fault"));
    if (!fault.ok()) return fault.status();
    faults.push_back({.fault = *fault, .at_frame = frame});
  }
  return faults;
}

void FaultSchedule::Add(const ScheduledFault& fault) {
  if (faults_.size() + 1 >= faults_.capacity()) {
    faults_.reserve(2 * faults_.size() + 2);
  }
  faults_.push_back(fault);
}

size_t FaultSchedule::Room(Direction direction, const Position& at,
                           size_t want) const noexcept {
  uint64_t room = want;
  for (const ScheduledFault& fault : faults_) {
    if (!Concerns(fault.fault.kind, direction)) continue;
    const uint64_t before = FramesOf(fault.fault.kind, at) + 1;
    if (fault.fault.kind == Kind::kReceiveError && fault.at_frame <= before) {
      continue;
    }
    room =
        std::min(room, fault.at_frame > before ? fault.at_frame - before : 0);
  }
  return room;
}

std::optional<ScheduledFault> FaultSchedule::TakeDue(
    const Position& at) noexcept {
  const auto it = std::ranges::find_if(faults_, [&at](const auto& fault) {
    return fault.fault.kind != Kind::kReceiveError && IsDue(fault, at);
  });
  if (it == faults_.end()) return std::nullopt;
  const ScheduledFault due = *it;
  faults_.erase(it);
  return due;
}

std::optional<ScheduledFault> FaultSchedule::TakeDueReceiveError(
    const Position& at) noexcept {
  const auto it = std::ranges::find_if(faults_, [&at](const auto& fault) {
    return fault.fault.kind == Kind::kReceiveError && IsDue(fault, at);
  });
  if (it == faults_.end()) return std::nullopt;
  const ScheduledFault due = *it;
  faults_.erase(it);
  return due;
}

}  // namespace weir::hca
