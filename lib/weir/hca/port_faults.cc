// What faults on request do to a port.

#include <infiniband/verbs.h>

#include <chrono>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "weir/hca/backend/impair/impaired.h"
#include "weir/hca/port.h"
#include "weir/hca/queue_pair.h"

namespace weir::hca {
namespace {

using Kind = Fault::Kind;

uint64_t ClockNs() noexcept {
  return static_cast<uint64_t>(
      std::chrono::steady_clock::now().time_since_epoch() /
      std::chrono::nanoseconds(1));
}

}  // namespace

void Port::Schedule(absl::string_view name,
                    std::span<const ScheduledFault> faults) {
  const std::lock_guard hold(fault_lock_);
  name_ = std::string(name);
  for (const ScheduledFault& fault : faults) faults_.Add(fault);
  if (!faults.empty()) has_faults_ = true;
}

void Port::Inject(const Fault& fault) {
  const FaultSchedule::Position at = position();
  ScheduledFault next{.fault = fault, .at_frame = at.sent + 1};
  if (fault.kind == Kind::kReceiveError) next.at_frame = at.received + 1;
  if (fault.kind == Kind::kSendError || fault.kind == Kind::kReceiveError) {
    const std::lock_guard hold(fault_lock_);
    faults_.Add(next);
    has_faults_ = true;
  } else {
    has_faults_ = true;
    Strike(fault);
  }
}

absl::Status Port::Impair(const Impairment& impairment) {
  const std::lock_guard hold(receive_lock_);
  const std::lock_guard hold_send(send_lock_);
  if (backend_ == nullptr) return absl::OkStatus();
  if (auto* const impaired = dynamic_cast<Impaired*>(backend_.get());
      impaired != nullptr) {
    impaired->Change(impairment);
    return absl::OkStatus();
  }
  auto impaired = Impaired::Create(std::move(backend_), impairment, name_);
  if (!impaired.ok()) return impaired.status();
  backend_ = *std::move(impaired);
  holds_sends_ = true;
  // Sleepers watch the medium's descriptor, from now on they have to watch
  // ours.
  WakeArmedLocked();
  return absl::OkStatus();
}

// How many of `want` frames may be sent or received now. Under the lock of
// that direction. Where it is none, the next poll runs the fault.
size_t Port::RoomBeforeFault(FaultSchedule::Direction direction,
                             size_t want) noexcept {
  const std::lock_guard hold(fault_lock_);
  if (fault_runs_) return 0;
  const size_t room = faults_.Room(direction, position(), want);
  if (room == 0 && want > 0 && !fault_is_due_) {
    fault_is_due_ = true;
    ChangeBacklog(1);
  }
  return room;
}

// The same for a receiver, which looks after receive errors itself: the next
// frame is to meet one when receive_error_ says so.
size_t Port::ReceiveRoom(size_t want) noexcept {
  if (receive_error_ == IBV_WC_SUCCESS) {
    const std::lock_guard hold(fault_lock_);
    const auto fault = faults_.TakeDueReceiveError(position());
    if (fault.has_value()) receive_error_ = fault->fault.status;
  }
  if (receive_error_ != IBV_WC_SUCCESS) want = std::min<size_t>(want, 1);
  return RoomBeforeFault(FaultSchedule::Direction::kReceive, want);
}

// False where Distribute has to receive, since the link is forced down or the
// next frame is to meet an error; else `want` is how many frames may come.
bool Port::GoesDirect(size_t& want) noexcept {
  if (receive_force_ == LinkForce::kDown) return false;
  want = ReceiveRoom(want);
  return receive_error_ == IBV_WC_SUCCESS;
}

// What arrives while the link is forced down is lost.
void Port::DropAll(size_t max) noexcept {
  const std::span<const RxFrame> frames = backend_->Receive(max);
  for (const RxFrame& frame : frames) received_.bytes.Add(frame.length_bytes);
  received_.frames.Add(frames.size());
  received_.link_down.Add(frames.size());
  backend_->Consume(frames.size());
}

void Port::RunFaults() noexcept {
  LinkUpIfDue();
  for (;;) {
    std::optional<ScheduledFault> fault;
    {
      const std::lock_guard hold(fault_lock_);
      if (!fault_is_due_ || fault_runs_) return;
      fault = faults_.TakeDue(position());
      if (!fault.has_value()) {
        fault_is_due_ = false;
        ChangeBacklog(-1);
        return;
      }
      fault_runs_ = true;
    }
    const bool struck = Strike(fault->fault);
    const std::lock_guard hold(fault_lock_);
    fault_runs_ = false;
    if (struck) continue;
    // Nobody waits to send (any more): with the next frame, then.
    faults_.Add(*fault);
    fault_is_due_ = false;
    ChangeBacklog(-1);
    return;
  }
}

// False if there was nothing that the fault could strike. No lock may be held.
bool Port::Strike(const Fault& fault) noexcept {
  switch (fault.kind) {
    case Kind::kSendError: {
      const std::lock_guard hold(list_lock_);
      return std::ranges::any_of(queue_pairs_, [&fault](QueuePair* qp) {
        return qp->FailNextSend(fault.status);
      });
    }
    case Kind::kReceiveError:
      return true;
    case Kind::kQpError: {
      const std::lock_guard hold(list_lock_);
      for (QueuePair* qp : queue_pairs_) qp->FailNow();
      return true;
    }
    case Kind::kCqOverrun: {
      Warn("a completion queue overran on request (cq_overrun)");
      const std::lock_guard hold(list_lock_);
      for (QueuePair* qp : queue_pairs_) qp->OverrunCompletionQueues();
      return true;
    }
    case Kind::kPortDown:
      ForceLink(LinkForce::kDown);
      if (fault.duration_ns > 0 &&
          up_at_ns_.exchange(ClockNs() + fault.duration_ns) == 0) {
        ChangeBacklog(1);
      }
      return true;
    case Kind::kPortUp:
      ForceLink(LinkForce::kNone);
      return true;
    case Kind::kRemove:
      Remove();
      return true;
  }
  return true;
}

void Port::LinkUpIfDue() noexcept {
  uint64_t at_ns = up_at_ns_;
  if (at_ns == 0 || ClockNs() < at_ns ||
      !up_at_ns_.compare_exchange_strong(at_ns, 0)) {
    return;
  }
  ChangeBacklog(-1);
  ForceLink(LinkForce::kNone);
}

void Port::Remove() noexcept {
  if (removed_.exchange(true)) return;
  Warn("the device was removed on request (remove)");
  CheckLink();
  {
    const std::lock_guard hold(list_lock_);
    for (QueuePair* qp : queue_pairs_) qp->FailNow();
  }
  WakeArmed();
}

void Port::Warn(absl::string_view what) noexcept {
  const std::lock_guard hold(fault_lock_);
  warnings_.push_back(absl::StrCat(name_, ": ", what));
}

}  // namespace weir::hca
