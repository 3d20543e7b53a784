#include "weir/hca/port.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "weir/hca/async_events.h"
#include "weir/hca/comp_channel.h"
#include "weir/hca/completion_queue.h"
#include "weir/hca/limits.h"
#include "weir/hca/queue_pair.h"
#include "weir/hca/receive_queue.h"
#include "weir/net/ethernet.h"

namespace weir::hca {

Port::Port(std::unique_ptr<Backend> backend, const net::MacAddress& mac)
    : flow_control_(backend->info().flow_control),
      max_frame_bytes_(backend->info().mtu_bytes +
                       static_cast<uint32_t>(net::kL2OverheadBytes)),
      backend_(std::move(backend)),
      link_(backend_->ReadLink()),
      holds_sends_(backend_->info().holds_sends),
      info_(backend_->info()),
      mac_(info_.mac == net::MacAddress{} ? mac : info_.mac) {}

void Port::Close() {
  const std::lock_guard hold_receive(receive_lock_);
  const std::lock_guard hold_send(send_lock_);
  backend_.reset();
}

bool Port::finished() {
  const std::lock_guard hold(receive_lock_);
  return backend_ == nullptr || backend_->finished();
}

std::string Port::TakeWarning() {
  const std::lock_guard hold(receive_lock_);
  return backend_ == nullptr ? std::string() : backend_->TakeWarning();
}

LinkState Port::CheckLink() {
  const std::lock_guard hold(receive_lock_);
  return CheckLinkLocked();
}

LinkState Port::CheckLinkLocked() {
  if (backend_ == nullptr) return link_;
  LinkState now = backend_->ReadLink();
  if (now == LinkState::kUp && receive_force_ == LinkForce::kDown) {
    now = LinkState::kDown;
  }
  if (now == link_) return now;
  link_ = now;
  ibv_async_event event{};
  event.element.port_num = kPortNumber;
  event.event_type = now == LinkState::kUp     ? IBV_EVENT_PORT_ACTIVE
                     : now == LinkState::kDown ? IBV_EVENT_PORT_ERR
                                               : IBV_EVENT_DEVICE_FATAL;
  for (AsyncEvents* listener : listeners_) listener->Raise(event);
  return now;
}

void Port::ForceLink(LinkForce force) {
  const std::lock_guard hold(receive_lock_);
  receive_force_ = force;
  {
    const std::lock_guard hold_send(send_lock_);
    send_force_ = force;
  }
  CheckLinkLocked();
}

void Port::AddListener(AsyncEvents& events) {
  const std::lock_guard hold(receive_lock_);
  listeners_.push_back(&events);
  if (backend_->link_fd() >= 0) events.WatchLink(backend_->link_fd());
}

void Port::RemoveListener(AsyncEvents& events) {
  const std::lock_guard hold(receive_lock_);
  std::erase(listeners_, &events);
  if (backend_->link_fd() >= 0) events.UnwatchLink(backend_->link_fd());
}

bool Port::ReadCounter(size_t index, absl::string_view& name, uint64_t& value) {
  struct Named {
    absl::string_view name;
    const Counter& counter;
  };
  const Named own[] = {
      {"rx_frames", received_.frames},
      {"rx_bytes", received_.bytes},
      {"rx_delivered", received_.delivered},
      {"unmatched", received_.unmatched},
      {"rx_flow_dropped", received_.flow_dropped},
      {"out_of_buffer", received_.out_of_buffer},
      {"rx_oversize", received_.oversize},
      {"rx_not_ready", received_.not_ready},
      {"rx_errors", received_.errors},
      {"tx_frames", sent_.frames},
      {"tx_bytes", sent_.bytes},
      {"tx_dropped", sent_.dropped},
  };
  if (index < std::size(own)) {
    name = own[index].name;
    value = own[index].counter.value();
    return true;
  }
  const std::lock_guard hold(receive_lock_);
  if (backend_ == nullptr) return false;
  const auto counters = backend_->counters();
  if (index - std::size(own) >= counters.size()) return false;
  name = counters[index - std::size(own)].name;
  value = counters[index - std::size(own)].value.value();
  return true;
}

void Port::AddQueuePair(QueuePair* qp) {
  const std::lock_guard hold(list_lock_);
  queue_pairs_.push_back(qp);
}

void Port::RemoveQueuePair(QueuePair* qp) {
  {
    const std::lock_guard hold(receive_lock_);
    RemoveFlowsLocked(qp);
  }
  const std::lock_guard hold(list_lock_);
  std::erase(queue_pairs_, qp);
}

void Port::Quiesce() {
  { const std::lock_guard hold(receive_lock_); }
  { const std::lock_guard hold(send_lock_); }
}

void Port::CountUnsent(uint32_t frames) {
  const std::lock_guard hold(send_lock_);
  sent_.dropped.Add(frames);
}

Port::DirectResult Port::ReceiveDirect(CompletionQueue& cq,
                                       std::span<ibv_wc> room) noexcept {
  const std::unique_lock hold(receive_lock_, std::try_to_lock);
  if (!hold.owns_lock()) return {};
  QueuePair* const qp = steering_.sole_target();
  ReceiveQueue* const sole = qp == nullptr ? nullptr : qp->receives();
  if (sole == nullptr || &sole->cq() != &cq || backend_ == nullptr) {
    return {.done = false};
  }
  ReceiveQueue& queue = *sole;
  const std::lock_guard hold_queue(queue.lock());
  const size_t want = std::min<size_t>(room.size(), queue.waiting());
  if (!queue.works() || (want == 0 && !flow_control_)) return {.done = false};
  if (want == 0 || receive_force_ == LinkForce::kDown) return {};

  const std::span<const RxFrame> frames = backend_->Receive(want);
  if (frames.empty()) return {};
  queue.RefreshRegions();
  DirectResult result;
  const uint32_t qp_num = queue.number();
  ibv_wc* to = room.data();
  uint64_t bytes = 0;
  size_t oversize = 0;
  size_t used = 0;
  while (used < frames.size()) {
    const size_t plain =
        queue.FillPlain(frames.subspan(used), max_frame_bytes_, to);
    used += plain;
    to += plain;
    if (used == frames.size()) break;
    const RxFrame& frame = frames[used++];
    if (frame.length_bytes > max_frame_bytes_) {
      ++oversize;
      continue;
    }
    to->status = queue.Fill(frame, to->wr_id);
    to->opcode = IBV_WC_RECV;
    to->vendor_err = 0;
    to->byte_len = frame.length_bytes;
    to->wc_flags = 0;
    const bool good = to->status == IBV_WC_SUCCESS;
    ++to;
    if (!good) {
      queue.FailLocked();
      result.failed = qp;
      break;
    }
  }
  for (ibv_wc* wc = room.data(); wc != to; ++wc) wc->qp_num = qp_num;
  for (const RxFrame& frame : frames.first(used)) bytes += frame.length_bytes;
  backend_->Consume(used);
  result.completions = static_cast<int>(to - room.data());
  queue.RetireNext(static_cast<uint32_t>(result.completions));
  const size_t errors = result.failed == nullptr ? 0 : 1;
  received_.frames.Add(used);
  received_.bytes.Add(bytes);
  received_.delivered.Add(static_cast<size_t>(result.completions) - errors);
  received_.oversize.Add(oversize);
  received_.errors.Add(errors);
  return result;
}

void Port::Distribute(size_t max) noexcept {
  std::vector<QueuePair*> failed;
  {
    const std::unique_lock hold(receive_lock_, std::try_to_lock);
    if (!hold.owns_lock() || backend_ == nullptr ||
        receive_force_ == LinkForce::kDown) {
      return;
    }
    const std::span<const RxFrame> frames =
        backend_->Receive(std::min(max, kBurstFrames));
    size_t used = 0;
    uint64_t bytes = 0;
    for (const RxFrame& frame : frames) {
      if (DistributeFrame(frame, failed) == Outcome::kHeld) break;
      ++used;
      bytes += frame.length_bytes;
    }
    backend_->Consume(used);
    received_.frames.Add(used);
    received_.bytes.Add(bytes);
  }
  FailQueuePairs(failed);
}

Port::Outcome Port::DistributeFrame(const RxFrame& frame,
                                    std::vector<QueuePair*>& failed) noexcept {
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
  // One outcome a frame, the best, however many queue pairs it was for.
  Delivery best = Delivery::kNotReady;
  for (const Target& target : targets_) {
    const Delivery delivery = Deliver(target, frame);
    if (delivery == Delivery::kFailed) failed.push_back(target.qp);
    best = std::max(best, delivery);
  }
  Counter* const counters[] = {&received_.not_ready, &received_.out_of_buffer,
                               &received_.errors, &received_.delivered};
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
    return queue->works() &&
           queue->waiting() < std::min(copies, queue->depth());
  });
}

Port::Delivery Port::Deliver(const Target& to, const RxFrame& frame) noexcept {
  if (to.queue == nullptr) return Delivery::kNotReady;
  ReceiveQueue& queue = *to.queue;
  CompletionQueue& cq = queue.cq();
  const std::lock_guard hold_cq(cq.lock());
  const std::lock_guard hold_queue(queue.lock());
  if (!queue.works()) return Delivery::kNotReady;
  if (queue.waiting() == 0) return Delivery::kStarved;
  queue.RefreshRegions();
  uint64_t wr_id = 0;
  const ibv_wc_status status = queue.Fill(frame, wr_id);
  cq.Push({.wr_id = wr_id,
           .queue = &queue,
           .status = status,
           .opcode = IBV_WC_RECV,
           .byte_len = frame.length_bytes,
           .done = queue.filled(),
           .flow_tag = to.tag});
  if (status == IBV_WC_SUCCESS) return Delivery::kCopied;
  queue.FailLocked();
  return Delivery::kFailed;
}

size_t Port::Transmit(std::span<const TxFrame> frames) noexcept {
  if (frames.empty() || backend_ == nullptr) return 0;
  if (send_force_ == LinkForce::kDown) [[unlikely]] {
    sent_.dropped.Add(frames.size());
    return frames.size();
  }
  const size_t taken = backend_->Transmit(frames);
  uint64_t bytes = 0;
  for (const TxFrame& frame : frames.first(taken)) {
    bytes += frame.length_bytes;
  }
  sent_.frames.Add(taken);
  sent_.bytes.Add(bytes);
  if (holds_sends_) [[unlikely]] {
    FlushLocked();
  }
  return taken;
}

// What is held counts as one queue that waits, so that pollers come by.
void Port::FlushLocked() noexcept {
  const bool holds = backend_->Flush();
  if (holds != holds_now_) ChangeBacklog(holds ? 1 : -1);
  holds_now_ = holds;
}

void Port::RetrySends() noexcept {
  if (holds_sends_) [[unlikely]] {
    const std::unique_lock hold(send_lock_, std::try_to_lock);
    if (hold.owns_lock() && backend_ != nullptr) FlushLocked();
  }
  const std::unique_lock hold(list_lock_, std::try_to_lock);
  if (!hold.owns_lock()) return;
  for (QueuePair* qp : queue_pairs_) qp->RetrySends();
}

void Port::FailQueuePairs(std::span<QueuePair* const> failed) noexcept {
  if (failed.empty()) return;
  const std::lock_guard hold(list_lock_);
  for (QueuePair* qp : failed) {
    if (std::ranges::count(queue_pairs_, qp) > 0) qp->FollowFailure();
  }
}

void Port::Arm(CompletionQueue& cq, CompChannel& channel, Wake wake) {
  const std::lock_guard hold(receive_lock_);
  if (std::ranges::count(armed_, &cq) == 0) armed_.push_back(&cq);
  if (HasBacklog()) channel.WatchBacklog();
  if (wake == Wake::kOnBacklog || backend_ == nullptr) return;
  if (backend_->ArmReceive()) {
    WakeArmedLocked();
  } else if (backend_->wake_fd() >= 0) {
    channel.WatchMedium(backend_->wake_fd());
  }
}

void Port::Disarm(CompletionQueue& cq) {
  const std::lock_guard hold(receive_lock_);
  std::erase(armed_, &cq);
}

void Port::WakeArmed() {
  const std::lock_guard hold(receive_lock_);
  if (backend_ != nullptr) backend_->ClearWake();
  WakeArmedLocked();
}

void Port::WakeArmedLocked() {
  for (CompletionQueue* cq : armed_) cq->FireIfArmed();
  armed_.clear();
}

}  // namespace weir::hca
