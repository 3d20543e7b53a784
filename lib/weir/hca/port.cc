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
#include "weir/hca/receive_wq.h"
#include "weir/net/ethernet.h"

namespace weir::hca {

Port::Port(std::unique_ptr<Backend> backend, const net::MacAddress& mac,
           RxChecksum rx_checksum)
    : flow_control_(backend->info().flow_control),
      verifies_checksums_(rx_checksum == RxChecksum::kOn &&
                          !backend->info().verifies_checksums),
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
  return backend_ == nullptr || removed_ || backend_->finished();
}

std::string Port::TakeWarning() {
  const std::lock_guard hold(receive_lock_);
  return backend_ == nullptr ? std::string() : backend_->TakeWarning();
}

LinkState Port::CheckLink() {
  LinkUpIfDue();
  LinkState now;
  {
    const std::lock_guard hold(receive_lock_);
    now = CheckLinkLocked();
  }
  // A device goes with the netdev below it.
  if (now == LinkState::kLost) Remove();
  return now;
}

LinkState Port::CheckLinkLocked() noexcept {
  if (backend_ == nullptr) return link_;
  // Also of a device that was removed: link_fd() stays readable otherwise.
  LinkState now = backend_->ReadLink();
  if (removed_) now = LinkState::kLost;
  if (now == LinkState::kUp && receive_force_ == LinkForce::kDown) {
    now = LinkState::kDown;
  }
  if (now == link_) return now;
  link_ = now;
  const ibv_event_type type = now == LinkState::kUp ? IBV_EVENT_PORT_ACTIVE
                              : now == LinkState::kDown
                                  ? IBV_EVENT_PORT_ERR
                                  : IBV_EVENT_DEVICE_FATAL;
  for (AsyncEvents* listener : listeners_) listener->RaiseOfPort(type);
  return now;
}

void Port::AddListener(AsyncEvents& events) {
  const std::lock_guard hold(receive_lock_);
  listeners_.push_back(&events);
  if (backend_->link_fd() >= 0) events.WatchLink(backend_->link_fd());
  events.WakeAt(up_at_ns_);
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
      {"rx_cq_overrun", received_.cq_overrun},
      {"rx_link_down", received_.link_down},
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

void Port::RemoveQueuePair(QueuePair* qp) noexcept {
  {
    const std::lock_guard hold(receive_lock_);
    RemoveFlowsLocked(qp);
  }
  const std::lock_guard hold(list_lock_);
  std::erase(queue_pairs_, qp);
}

void Port::AddWorkQueue(ReceiveWq* wq) {
  const std::lock_guard hold(list_lock_);
  work_queues_.push_back(wq);
}

void Port::RemoveWorkQueue(ReceiveWq* wq) noexcept {
  const std::lock_guard hold(list_lock_);
  std::erase(work_queues_, wq);
}

void Port::Quiesce() {
  { const std::lock_guard hold(receive_lock_); }
  { const std::lock_guard hold(send_lock_); }
}

void Port::CountUnsent(uint32_t frames) {
  const std::lock_guard hold(send_lock_);
  sent_.dropped.Add(frames);
}

size_t Port::Transmit(std::span<const TxFrame> frames) noexcept {
  if (frames.empty() || backend_ == nullptr) return 0;
  if (has_faults_) [[unlikely]] {
    if (removed_) return 0;
    frames = frames.first(faults_.Room(PendingFaults::Direction::kSend,
                                       position(), frames.size()));
    if (frames.empty()) return 0;
  }
  if (send_force_ == LinkForce::kDown) [[unlikely]] {
    sent_.dropped.Add(frames.size());
    sent_.link_down.Add(frames.size());
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
  if (has_faults_) [[unlikely]] {
    RunFaults();
  }
  if (overran_) [[unlikely]] {
    FollowFailures();
  }
  if (holds_sends_) [[unlikely]] {
    const std::unique_lock hold(send_lock_, std::try_to_lock);
    if (hold.owns_lock() && backend_ != nullptr) FlushLocked();
  }
  const std::unique_lock hold(list_lock_, std::try_to_lock);
  if (!hold.owns_lock()) return;
  for (QueuePair* qp : queue_pairs_) qp->RetrySends();
}

// The backlog brings pollers by, whatever completion queue they are at.
void Port::NoteOverrun() noexcept {
  if (!overran_.exchange(true)) ChangeBacklog(1);
}

void Port::FollowFailures() noexcept {
  const std::lock_guard hold(list_lock_);
  for (QueuePair* qp : queue_pairs_) qp->FollowIfMarked();
  // What fails is flushed, which may overrun the next.
  while (overran_.exchange(false)) {
    ChangeBacklog(-1);
    for (QueuePair* qp : queue_pairs_) qp->FollowOverrun();
    for (ReceiveWq* wq : work_queues_) wq->FollowOverrun();
  }
}

void Port::AddSleeper(CompletionQueue& cq) {
  const std::lock_guard hold(receive_lock_);
  sleepers_.push_back(&cq);
}

void Port::RemoveSleeper(CompletionQueue& cq) noexcept {
  const std::lock_guard hold(receive_lock_);
  std::erase(sleepers_, &cq);
}

void Port::Arm(CompChannel& channel, Wake wake) noexcept {
  const std::lock_guard hold(receive_lock_);
  if (HasBacklog()) channel.WatchBacklog();
  if (wake == Wake::kOnBacklog || backend_ == nullptr) return;
  // Who cannot be woken when there are frames has to come and look.
  if (backend_->ArmReceive() ||
      (backend_->wake_fd() >= 0 && !channel.WatchMedium(backend_->wake_fd()))) {
    WakeArmedLocked();
  }
}

void Port::WakeArmed() noexcept {
  const std::lock_guard hold(receive_lock_);
  if (backend_ != nullptr) backend_->ClearWake();
  WakeArmedLocked();
}

void Port::WakeArmedLocked() noexcept {
  for (CompletionQueue* cq : sleepers_) cq->FireIfArmed();
}

}  // namespace weir::hca
