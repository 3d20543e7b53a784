#include "weir/hca/pending_faults.h"

#include <mutex>

namespace weir::hca {

void PendingFaults::Schedule(absl::string_view name,
                             std::span<const ScheduledFault> faults) {
  const std::lock_guard hold(lock_);
  name_ = std::string(name);
  for (const ScheduledFault& fault : faults) schedule_.Add(fault);
}

void PendingFaults::Add(const ScheduledFault& fault) {
  const std::lock_guard hold(lock_);
  schedule_.Add(fault);
}

size_t PendingFaults::Room(Direction direction, const Position& at,
                           size_t want) noexcept {
  const std::lock_guard hold(lock_);
  if (runs_) return 0;
  const size_t room = schedule_.Room(direction, at, want);
  if (room == 0 && want > 0) SetDue(true);
  return room;
}

std::optional<ibv_wc_status> PendingFaults::TakeReceiveError(
    const Position& at) noexcept {
  const std::lock_guard hold(lock_);
  const auto fault = schedule_.TakeDueReceiveError(at);
  if (!fault.has_value()) return std::nullopt;
  return fault->fault.status;
}

std::optional<ScheduledFault> PendingFaults::Begin(
    const Position& at) noexcept {
  const std::lock_guard hold(lock_);
  if (!is_due_ || runs_) return std::nullopt;
  const auto fault = schedule_.TakeDue(at);
  runs_ = fault.has_value();
  SetDue(runs_);
  return fault;
}

void PendingFaults::End(const ScheduledFault& fault, Outcome outcome) noexcept {
  const std::lock_guard hold(lock_);
  runs_ = false;
  if (outcome == Outcome::kStruck) return;
  schedule_.PutBack(fault);
  SetDue(false);
}

std::string PendingFaults::name() {
  const std::lock_guard hold(lock_);
  return name_;
}

void PendingFaults::SetDue(bool due) noexcept {
  if (due != is_due_) backlog_ += due ? 1 : -1;
  is_due_ = due;
}

}  // namespace weir::hca
