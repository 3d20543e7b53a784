// The receiving half of the port: frames from the medium to posted buffers.

#include <algorithm>
#include <mutex>
#include <utility>

#include "weir/hca/completion_queue.h"
#include "weir/hca/limits.h"
#include "weir/hca/packet_checksums.h"
#include "weir/hca/port.h"
#include "weir/hca/queue_pair.h"
#include "weir/hca/receive_queue.h"

namespace weir::hca {

static_assert(uint32_t{kFrameChecksumGood} == uint32_t{IBV_WC_IP_CSUM_OK});

// Of ibv_wc_flags.
uint32_t Port::FlagsOf(const RxFrame& frame) const noexcept {
  const uint32_t known =
      frame.flags & (kFrameChecksumGood | kFrameChecksumKnown);
  if (known != 0 || !verifies_checksums_) return known & kFrameChecksumGood;
  return HasGoodChecksums({frame.data, frame.length_bytes})
             ? uint32_t{kFrameChecksumGood}
             : 0;
}

void Port::VerifyChecksums(std::span<const RxFrame> frames,
                           ibv_wc* completions) const noexcept {
  for (const RxFrame& frame : frames) {
    (completions++)->wc_flags = FlagsOf(frame);
  }
}

// The queue pair that all frames go to, if its receives complete to `cq`.
QueuePair* Port::SoleTargetOf(const CompletionQueue& cq) noexcept {
  QueuePair* const qp = steering_.sole_target();
  ReceiveQueue* const queue = qp == nullptr ? nullptr : qp->receives();
  const bool is_direct =
      queue != nullptr && &queue->cq() == &cq && backend_ != nullptr;
  return is_direct ? qp : nullptr;
}

Port::DirectResult Port::ReceiveDirect(CompletionQueue& cq,
                                       std::span<ibv_wc> room) noexcept {
  const std::unique_lock hold(receive_lock_, std::try_to_lock);
  if (!hold.owns_lock()) return {};
  QueuePair* const qp = SoleTargetOf(cq);
  if (qp == nullptr) return {.done = false};
  ReceiveQueue& queue = *qp->receives();
  const std::lock_guard hold_queue(queue.lock());
  size_t want = std::min<size_t>(room.size(), queue.waiting());
  if (!queue.works() || (want == 0 && !flow_control_)) return {.done = false};
  if (has_faults_) [[unlikely]] {
    if (!GoesDirect(want)) return {.done = false};
  }
  if (want == 0) return {};

  const std::span<const RxFrame> frames = backend_->Receive(want);
  if (frames.empty()) return {};
  queue.RefreshRegions();
  DirectResult result;
  const uint32_t qp_num = queue.number();
  ibv_wc* to = room.data();
  size_t oversize = 0;
  size_t used = 0;
  while (used < frames.size()) {
    const auto rest = frames.subspan(used);
    const size_t plain = queue.FillPlain(rest, max_frame_bytes_, to);
    if (verifies_checksums_) VerifyChecksums(rest.first(plain), to);
    used += plain;
    to += plain;
    if (used == frames.size()) break;
    const RxFrame& frame = frames[used++];
    if (frame.length_bytes > max_frame_bytes_) {
      ++oversize;
      continue;
    }
    const ReceiveQueue::Filled filled = queue.Fill(frame);
    to->wr_id = filled.wr_id;
    to->status = filled.status;
    to->opcode = IBV_WC_RECV;
    to->vendor_err = 0;
    to->byte_len = filled.byte_len;
    to->wc_flags = FlagsOf(frame);
    ++to;
    if (filled.status != IBV_WC_SUCCESS) {
      queue.FailLocked();
      qp->MarkFailed();
      result.failed = true;
      break;
    }
  }
  for (ibv_wc* wc = room.data(); wc != to; ++wc) wc->qp_num = qp_num;
  result.completions = static_cast<int>(to - room.data());
  queue.RetireNext(static_cast<uint32_t>(result.completions));
  FinishDirect(frames.first(used), oversize, result);
  return result;
}

Port::DirectResult Port::ReceiveToRing(CompletionQueue& cq,
                                       size_t max) noexcept {
  const std::unique_lock hold(receive_lock_, std::try_to_lock);
  if (!hold.owns_lock()) return {};
  QueuePair* const qp = SoleTargetOf(cq);
  if (qp == nullptr) return {.done = false};
  ReceiveQueue& queue = *qp->receives();
  const std::lock_guard hold_queue(queue.lock());
  size_t want = std::min<size_t>({max, queue.waiting(), cq.room()});
  if (!queue.works() || (want == 0 && !flow_control_)) return {.done = false};
  if (has_faults_) [[unlikely]] {
    if (!GoesDirect(want)) return {.done = false};
  }
  if (want == 0) return {};

  const std::span<const RxFrame> frames = backend_->Receive(want);
  if (frames.empty()) return {};
  queue.RefreshRegions();
  const Target to = {.qp = qp, .queue = &queue, .tag = 0};
  DirectResult result;
  BurstClock clock;
  size_t oversize = 0;
  size_t used = 0;
  while (used < frames.size() && !result.failed) {
    const RxFrame& frame = frames[used++];
    if (frame.length_bytes > max_frame_bytes_) {
      ++oversize;
      continue;
    }
    const Arrival arrival = {.frame = frame, .wc_flags = FlagsOf(frame)};
    result.failed = FillAndComplete(to, arrival, clock) != Delivery::kTaken;
    ++result.completions;
  }
  FinishDirect(frames.first(used), oversize, result);
  return result;
}

// Gives the frames back and counts them: one completion each, save those that
// were too long.
void Port::FinishDirect(std::span<const RxFrame> used, size_t oversize,
                        const DirectResult& result) noexcept {
  uint64_t bytes = 0;
  for (const RxFrame& frame : used) bytes += frame.length_bytes;
  backend_->Consume(used.size());
  const size_t errors = result.failed ? 1 : 0;
  received_.frames.Add(used.size());
  received_.bytes.Add(bytes);
  received_.delivered.Add(static_cast<size_t>(result.completions) - errors);
  received_.oversize.Add(oversize);
  received_.errors.Add(errors);
}

// Copies a frame to posted buffers, of which there are some, and completes them
// through the ring. All but kTaken failed the queue.
Port::Delivery Port::FillAndComplete(const Target& to, const Arrival& arrival,
                                     BurstClock& clock) noexcept {
  ReceiveQueue& queue = *to.queue;
  ReceiveQueue::Filled filled = queue.Fill(arrival.frame);
  if (receive_error_ != IBV_WC_SUCCESS) [[unlikely]] {
    filled.status = std::exchange(receive_error_, IBV_WC_SUCCESS);
  }
  Completion completion = {.wr_id = filled.wr_id,
                           .queue = &queue,
                           .status = filled.status,
                           .opcode = IBV_WC_RECV,
                           .byte_len = filled.byte_len,
                           .done = queue.filled(),
                           .wc_flags = arrival.wc_flags,
                           .flow_tag = to.tag,
                           .vlan_tci = filled.vlan_tci};
  queue.cq().Stamp(completion, clock, arrival.frame.timestamp_ns);
  const bool completed = queue.cq().Push(completion);
  if (completed && filled.status == IBV_WC_SUCCESS) return Delivery::kTaken;
  queue.FailLocked();
  to.qp->MarkFailed();
  return completed ? Delivery::kFailed : Delivery::kLost;
}

void Port::Distribute(size_t max) noexcept {
  Distribution distribution;
  {
    const std::unique_lock hold(receive_lock_, std::try_to_lock);
    if (!hold.owns_lock() || backend_ == nullptr || removed_) return;
    max = std::min(max, kBurstFrames);
    if (has_faults_) [[unlikely]] {
      if (receive_force_ == LinkForce::kDown) return DropAll(max);
      max = ReceiveRoom(max);
      if (max == 0) return;
    }
    const std::span<const RxFrame> frames = backend_->Receive(max);
    size_t used = 0;
    uint64_t bytes = 0;
    for (const RxFrame& frame : frames) {
      if (DistributeFrame(frame, distribution) == Outcome::kHeld) break;
      ++used;
      bytes += frame.length_bytes;
    }
    backend_->Consume(used);
    received_.frames.Add(used);
    received_.bytes.Add(bytes);
  }
  if (distribution.failed) FollowFailures();
}

Port::Outcome Port::DistributeFrame(const RxFrame& frame,
                                    Distribution& distribution) noexcept {
  if (frame.length_bytes > max_frame_bytes_) {
    received_.oversize.Add(1);
    return Outcome::kConsumed;
  }
  steering_.Find({frame.data, frame.length_bytes},
                 (frame.flags & kFrameSniffed) != 0, verdict_);
  targets_.clear();
  for (const FlowTarget& to : verdict_.targets) {
    targets_.push_back(
        {.qp = to.qp, .queue = to.qp->QueueFor(frame), .tag = to.tag});
  }
  if (flow_control_ && MustWait()) return Outcome::kHeld;
  Steering::Count(verdict_, frame.length_bytes);
  if (targets_.empty()) {
    (verdict_.dropped ? received_.flow_dropped : received_.unmatched).Add(1);
    return Outcome::kConsumed;
  }
  const Arrival arrival = {.frame = frame, .wc_flags = FlagsOf(frame)};
  // One outcome a frame, the best, however many queue pairs it was for.
  Delivery best = Delivery::kNotReady;
  for (const Target& target : targets_) {
    const Delivery delivery = Deliver(target, arrival, distribution.clock);
    if (delivery == Delivery::kFailed || delivery == Delivery::kLost) {
      distribution.failed = true;
    }
    best = std::max(best, delivery);
  }
  Counter* const counters[] = {&received_.not_ready, &received_.out_of_buffer,
                               &received_.cq_overrun, &received_.errors,
                               &received_.delivered};
  counters[static_cast<size_t>(best)]->Add(1);
  return Outcome::kConsumed;
}

// True if a target of the frame takes part but has less posted than copies to
// come, and could have more.
bool Port::MustWait() noexcept {
  return std::ranges::any_of(targets_, [this](const Target& target) {
    ReceiveQueue* const queue = target.queue;
    if (queue == nullptr) return false;
    const auto copies = static_cast<uint32_t>(
        targets_.size() == 1
            ? 1
            : std::ranges::count(targets_, queue, &Target::queue));
    const std::lock_guard hold(queue->lock());
    return queue->works() && !queue->cq().failed() &&
           queue->waiting() < std::min(copies, queue->depth());
  });
}

Port::Delivery Port::Deliver(const Target& to, const Arrival& arrival,
                             BurstClock& clock) noexcept {
  if (to.queue == nullptr) return Delivery::kNotReady;
  ReceiveQueue& queue = *to.queue;
  const std::lock_guard hold_cq(queue.cq().lock());
  const std::lock_guard hold_queue(queue.lock());
  if (!queue.works()) return Delivery::kNotReady;
  if (queue.waiting() == 0) return Delivery::kStarved;
  queue.RefreshRegions();
  return FillAndComplete(to, arrival, clock);
}

}  // namespace weir::hca
