// What faults on request do to a port.

#include <infiniband/verbs.h>

#include <algorithm>
#include <mutex>
#include <span>
#include <utility>

#include "absl/strings/string_view.h"
#include "weir/hca/backend/impair/impaired.h"
#include "weir/hca/clock.h"
#include "weir/hca/port.h"
#include "weir/hca/queue_pair.h"
#include "weir/hca/receive_wq.h"

namespace weir::hca {
namespace {

using Kind = Fault::Kind;

}  // namespace

void Port::Schedule(absl::string_view name,
                    std::span<const ScheduledFault> faults) {
  faults_.Schedule(name, faults);
  if (!faults.empty()) has_faults_ = true;
}

void Port::Inject(const Fault& fault) {
  const PendingFaults::Position at = position();
  has_faults_ = true;
  if (fault.kind == Kind::kSendError) {
    faults_.Add({.fault = fault, .at_frame = at.sent + 1});
  } else if (fault.kind == Kind::kReceiveError) {
    faults_.Add({.fault = fault, .at_frame = at.received + 1});
  } else {
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
  auto impaired =
      Impaired::Create(std::move(backend_), impairment, faults_.name());
  if (!impaired.ok()) return impaired.status();
  backend_ = *std::move(impaired);
  holds_sends_ = true;
  // Sleepers watch the medium's descriptor, from now on they have to watch
  // ours.
  WakeArmedLocked();
  return absl::OkStatus();
}

// How many of `want` frames may be received now. The next one is to meet an
// error when receive_error_ says so.
size_t Port::ReceiveRoom(size_t want) noexcept {
  if (removed_) return 0;
  if (receive_error_ == IBV_WC_SUCCESS) {
    receive_error_ =
        faults_.TakeReceiveError(position()).value_or(IBV_WC_SUCCESS);
  }
  if (receive_error_ != IBV_WC_SUCCESS) want = std::min<size_t>(want, 1);
  return faults_.Room(PendingFaults::Direction::kReceive, position(), want);
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
  max = faults_.Room(PendingFaults::Direction::kReceive, position(), max);
  if (max == 0) return;
  const std::span<const RxFrame> frames = backend_->Receive(max);
  for (const RxFrame& frame : frames) received_.bytes.Add(frame.length_bytes);
  received_.frames.Add(frames.size());
  received_.link_down.Add(frames.size());
  backend_->Consume(frames.size());
}

void Port::RunFaults() noexcept {
  LinkUpIfDue();
  while (const auto fault = faults_.Begin(position())) {
    const PendingFaults::Outcome outcome = Strike(fault->fault);
    faults_.End(*fault, outcome);
    if (outcome == PendingFaults::Outcome::kMissed) return;
  }
}

// No lock may be held.
PendingFaults::Outcome Port::Strike(const Fault& fault) noexcept {
  using enum PendingFaults::Outcome;
  switch (fault.kind) {
    case Kind::kSendError: {
      const std::lock_guard hold(list_lock_);
      const bool struck = std::ranges::any_of(
          queue_pairs_,
          [&fault](QueuePair* qp) { return qp->FailNextSend(fault.status); });
      return struck ? kStruck : kMissed;
    }
    case Kind::kReceiveError:
      return kStruck;
    case Kind::kQpError: {
      const std::lock_guard hold(list_lock_);
      for (QueuePair* qp : queue_pairs_) qp->FailNow();
      return kStruck;
    }
    case Kind::kCqOverrun: {
      {
        const std::lock_guard hold(list_lock_);
        for (QueuePair* qp : queue_pairs_) qp->OverrunCompletionQueues();
      }
      FollowFailures();
      return kStruck;
    }
    case Kind::kPortDown: {
      const std::lock_guard hold(receive_lock_);
      const bool for_good = fault.duration_ns == 0;
      ForceLinkLocked(LinkForce::kDown,
                      for_good ? 0 : SteadyNs() + fault.duration_ns);
      return kStruck;
    }
    case Kind::kPortUp: {
      const std::lock_guard hold(receive_lock_);
      ForceLinkLocked(LinkForce::kNone);
      return kStruck;
    }
    case Kind::kSendStall: {
      const uint64_t until_ns =
          fault.duration_ns == 0 ? 0 : SteadyNs() + fault.duration_ns;
      const std::lock_guard hold(list_lock_);
      bool struck = false;
      for (QueuePair* qp : queue_pairs_) struck |= qp->StallSends(until_ns);
      return struck ? kStruck : kMissed;
    }
    case Kind::kRemove:
      Remove();
      return kStruck;
  }
  return kStruck;
}

// In place of whatever was before, with its time.
void Port::ForceLinkLocked(LinkForce force, uint64_t up_at_ns) noexcept {
  receive_force_ = force;
  {
    const std::lock_guard hold_send(send_lock_);
    send_force_ = force;
  }
  const bool was_timed = up_at_ns_.exchange(up_at_ns) != 0;
  const bool is_timed = up_at_ns != 0;
  if (was_timed != is_timed) ChangeBacklog(is_timed ? 1 : -1);
  for (AsyncEvents* listener : listeners_) listener->WakeAt(up_at_ns);
  CheckLinkLocked();
  // Sleepers have the time to look at now, or frames to receive.
  if (is_timed || force == LinkForce::kNone) WakeArmedLocked();
}

void Port::LinkUpIfDue() noexcept {
  const auto is_due = [this] {
    const uint64_t at_ns = up_at_ns_;
    return at_ns != 0 && SteadyNs() >= at_ns;
  };
  if (!is_due()) return;
  const std::lock_guard hold(receive_lock_);
  if (is_due()) ForceLinkLocked(LinkForce::kNone);
}

void Port::Remove() noexcept {
  if (removed_.exchange(true)) return;
  has_faults_ = true;
  CheckLink();
  {
    const std::lock_guard hold(list_lock_);
    for (QueuePair* qp : queue_pairs_) qp->FailNow();
    for (ReceiveWq* wq : work_queues_) wq->FailNow();
  }
  WakeArmed();
}

}  // namespace weir::hca
