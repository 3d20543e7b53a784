#include "weir/port/rx_queue.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "weir/base/tsc_clock.h"
#include "weir/net/ethernet.h"
#include "weir/port/port_health.h"
#include "weir/port/port_info.h"
#include "weir/port/rx_spread.h"
#include "weir/port/sole_rx_end.h"
#include "weir/verbs/soft_hca.h"

namespace weir {
namespace {

// The longest frame of the port.
uint32_t FrameBytes(const PortContext& context) {
  return static_cast<uint32_t>(context.info.mtu_bytes + net::kL2OverheadBytes);
}

// How often an empty completion queue is looked at again for the completions
// of what failed.
constexpr uint32_t kMaxEmptyPolls = 1000;

// What the end of a queue is asked for, or why the port cannot have it.
absl::StatusOr<RxEndOptions> EndOptions(const PortContext& context,
                                        const MbufPool& pool,
                                        const RxQueue::Options& options) {
  const uint32_t frame_bytes = FrameBytes(context);
  const uint32_t segments =
      SegmentsFor(frame_bytes, pool.chunk_bytes(), pool.headroom_bytes());
  const int max = context.device->attributes().max_sge;
  if (segments > static_cast<uint32_t>(max)) {
    return absl::InvalidArgumentError(absl::StrCat(
        context.info.name, ": a frame of ", frame_bytes, " bytes needs ",
        segments, " mbufs of ", pool.chunk_bytes(),
        " bytes, and the device "
        "takes ",
        max, " in a receive; use larger mbufs or a smaller MTU"));
  }
  return RxEndOptions{.depth = options.depth,
                      .segments = segments,
                      .timestamps = options.timestamps};
}

}  // namespace

absl::StatusOr<RxQueue> RxQueue::Create(std::shared_ptr<PortContext> context,
                                        const MbufPool& pool,
                                        const Options& options) {
  const auto wanted = EndOptions(*context, pool, options);
  if (!wanted.ok()) return wanted.status();
  auto end = SoleRxEnd::Create(context, *wanted);
  if (!end.ok()) return end.status();
  return RxQueue(std::move(context), pool, *wanted, *std::move(end), 0);
}

absl::StatusOr<std::vector<RxQueue>> RxQueue::CreateSpread(
    std::shared_ptr<PortContext> context, const MbufPool& pool,
    const Options& options, uint32_t count) {
  const auto wanted = EndOptions(*context, pool, options);
  if (!wanted.ok()) return wanted.status();
  const auto spread = RxSpread::Create(context, count, *wanted);
  if (!spread.ok()) return spread.status();
  std::vector<RxQueue> queues;
  for (std::unique_ptr<RxEnd>& end : RxSpread::Ends(*spread)) {
    const auto index = static_cast<uint32_t>(queues.size());
    queues.push_back(RxQueue(context, pool, *wanted, std::move(end), index));
  }
  return queues;
}

RxQueue::RxQueue(std::shared_ptr<PortContext> context, const MbufPool& pool,
                 const RxEndOptions& options, std::unique_ptr<RxEnd> end,
                 uint32_t index)
    : counters_(std::make_shared<RxCounters>()),
      work_(std::make_unique<Work>()),
      cq_(&end->cq()),
      backoff_(TscHz()),
      context_(std::move(context)),
      name_(QueueName(context_->info, "rx", index, context_->info.queues.rx)),
      slots_(pool, std::bit_floor(std::min(options.depth, end->depth())),
             options.segments, context_->region.lkey(),
             ColoursFor(FrameBytes(*context_), pool.chunk_bytes(),
                        pool.headroom_bytes())),
      end_(std::move(end)) {
  refill_ = std::clamp(slots_.depth() / 2, 1U, kRefill);
  for (uint32_t i = 0; i < kRefill; ++i) {
    work_->requests[i] = {};
    work_->requests[i].next = &work_->requests[(i + 1) % kRefill];
    work_->requests[i].num_sge = static_cast<int>(slots_.segments());
  }
}

void RxQueue::Receive(Burst& burst, Lcore& lcore) noexcept {
  if (state_ != State::kReceiving) [[unlikely]] {
    if (state_ == State::kClosing) return ReceiveRest(burst);
    if (!Start(lcore)) return;
  }
  const int count = Poll();
  const size_t good = TakeGood(count, burst);
  if (count < 0 || good != static_cast<size_t>(count)) [[unlikely]] {
    Fail(
        count < 0 ? QueueFailure::kBrokenCq
                  : FailureOf(work_->completions[good].status),
        static_cast<uint32_t>(std::max(count, 0)) - static_cast<uint32_t>(good),
        lcore);
  } else if (slots_.depth() - (posted_ - completed_) >= refill_) {
    Refill(lcore);
  }
}

// Completions, or -1 of a completion queue that failed.
int RxQueue::Poll() noexcept {
  return cq_->has_times()
             ? cq_->PollWithTimes(work_->completions, work_->times_ns)
             : cq_->Poll(work_->completions);
}

// Takes the frames of the `count` completions that were polled, up to the first
// that has an error. Returns how many there were.
inline size_t RxQueue::TakeGood(int count, Burst& burst) noexcept {
  const std::span<const ibv_wc> completions(
      work_->completions.data(), static_cast<size_t>(std::max(count, 0)));
  size_t good = 0;
  while (good < completions.size() &&
         completions[good].status == IBV_WC_SUCCESS) {
    ++good;
  }
  if (good == 0) return 0;
  // One receive queue completes in the order of posting.
  assert(completions[0].wr_id == (completed_ & (slots_.depth() - 1)));
  const uint64_t bytes =
      slots_.Take(completed_, completions.first(good), burst);
  if (cq_->has_times()) SetTimes(burst.mbufs().last(good));
  completed_ += static_cast<uint32_t>(good);
  counters_->packets.Add(good);
  counters_->bytes.Add(bytes);
  counters_->held_mbufs.Set(slots_.held_mbufs());
  backoff_.Succeeded();
  // A medium that wakes somebody may cost more with every frame.
  if (is_armed_) [[unlikely]] {
    Disarm();
  }
  return good;
}

// Receives that could not be posted are tried again: mbufs come without a sign.
// With none posted, frames that wait would wake the lcore at once, for nothing.
void RxQueue::Arm(Sleep& sleep) noexcept {
  if (state_ != State::kReceiving) {
    if (context_->health->state() == PortState::kGone) return;
    sleep.WakeAt(backoff_.next_tsc());
    if (state_ == State::kEmpty) sleep.WakeWithin(Sleep::kBacklogNs);
    return;
  }
  const uint32_t posted = posted_ - completed_;
  if (slots_.depth() - posted >= refill_) {
    sleep.WakeWithin(posted == 0 ? Sleep::kBacklogNs : Sleep::kTickNs);
    if (posted == 0) return;
  }
  if (!is_armed_) {
    is_armed_ = cq_->Arm();
    sleep.MustLookAgain();
  }
  sleep.WaitFor(cq_->wake_fd());
}

// Stamps the frames of the completions that were polled.
void RxQueue::SetTimes(std::span<Mbuf* const> frames) noexcept {
  for (size_t i = 0; i < frames.size(); ++i) {
    frames[i]->set_timestamp_ns(work_->times_ns[i]);
  }
}

bool RxQueue::Close() noexcept {
  if (state_ == State::kReceiving) {
    end_->Fail();
    state_ = State::kClosing;
  } else if (state_ == State::kEmpty || state_ == State::kFailed) {
    end_->Reset();
    state_ = State::kClosed;
  }
  return state_ == State::kClosed;
}

// Receives from an end that was stopped: first what had come, then receives
// that were flushed, or nothing, where a device withholds these.
void RxQueue::ReceiveRest(Burst& burst) noexcept {
  int count = 0;
  const uint32_t max_polls = posted_ == completed_ ? 0 : kMaxEmptyPolls;
  for (uint32_t polls = 0; count == 0 && polls < max_polls; ++polls) {
    count = Poll();
  }
  const size_t good = TakeGood(count, burst);
  if (count > 0 && good == static_cast<size_t>(count)) return;
  const auto seen = static_cast<uint32_t>(std::max(count, 0));
  Drain(posted_ - completed_ - (seen - static_cast<uint32_t>(good)));
  end_->Reset();
  posted_ = 0;
  completed_ = 0;
  state_ = State::kClosed;
}

bool RxQueue::finished() const noexcept {
  return context_->health->state() == PortState::kGone ||
         verbs::IsSoftDeviceFinished(context_->device->context());
}

// Gives the device as many receives as the pool has mbufs for and lets it
// receive.
bool RxQueue::Start(Lcore& lcore) noexcept {
  if (state_ == State::kClosed || GivesUp()) return false;
  if (!backoff_.Due(lcore.now_tsc())) return false;
  if (state_ == State::kFailed) {
    if (is_cq_broken_) {
      Disarm();
      is_armed_ = false;
    }
    if (!(is_cq_broken_ ? end_->Rebuild() : end_->Renew())) {
      backoff_.Failed(lcore.now_tsc());
      return false;
    }
    is_cq_broken_ = false;
    state_ = State::kEmpty;
    counters_->recoveries.Add(1);
  }
  if (!Refill(lcore)) return false;
  if (!end_->Open()) {
    Fail(QueueFailure::kRefused, 0, lcore);
    return false;
  }
  state_ = State::kReceiving;
  return true;
}

// True if the device is gone, which a soft one may say before the control
// thread does; the mbufs are free then.
bool RxQueue::GivesUp() noexcept {
  if (!(state_ == State::kFailed && finished()) &&
      context_->health->state() != PortState::kGone) {
    return false;
  }
  slots_.Clear();
  counters_->held_mbufs.Set(0);
  return true;
}

// Posts receives for all slots that are free, unless they are too few to be
// worth a call. Returns false if the device refused, after Fail.
bool RxQueue::Refill(Lcore& lcore) noexcept {
  uint32_t free = slots_.depth() - (posted_ - completed_);
  uint32_t posts = 0;
  bool accepted = true;
  while (free >= refill_) {
    const uint32_t wanted = std::min(free, kRefill);
    const uint32_t ready = slots_.Fill(posted_, wanted, lcore.cache());
    accepted = ready == 0 || Post(ready);
    if (!accepted) break;
    posts += ready;
    if (ready != wanted) {
      counters_->pool_dry.Add(1);
      break;
    }
    free -= ready;
  }
  counters_->posts.Add(posts);
  counters_->held_mbufs.Set(slots_.held_mbufs());
  if (!accepted) Fail(QueueFailure::kRefused, 0, lcore);
  return accepted;
}

// Posts the next `count` slots, at most kRefill, which are complete.
bool RxQueue::Post(uint32_t count) noexcept {
  auto& requests = work_->requests;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t slot = (posted_ + i) & (slots_.depth() - 1);
    requests[i].wr_id = slot;
    requests[i].sg_list = slots_.scatter_list(slot);
  }
  ibv_recv_wr* const rest = std::exchange(requests[count - 1].next, nullptr);
  ibv_recv_wr* bad = nullptr;
  const int error = end_->Post(requests[0], &bad);
  requests[count - 1].next = rest;
  if (error != 0) return false;
  posted_ += count;
  return true;
}

// Stops the end and takes note of every receive that it still had, `seen` of
// which have completed in vain: one with an error, the others flushed. The
// mbufs stay in their slots and are posted again by the next Start.
void RxQueue::Fail(QueueFailure failure, uint32_t seen, Lcore& lcore) noexcept {
  const uint32_t outstanding = posted_ - completed_;
  end_->Fail();
  if (!Drain(outstanding - seen)) failure = QueueFailure::kBrokenCq;
  end_->Reset();
  is_cq_broken_ |= failure == QueueFailure::kBrokenCq;
  counters_->failures.Note(failure);
  counters_->errors.Add(1);
  counters_->flushed.Add(outstanding);
  posted_ = 0;
  completed_ = 0;
  state_ = State::kFailed;
  backoff_.Failed(lcore.now_tsc());
  GivesUp();
}

// Takes the completions of `outstanding` receives, as far as they come: a
// device may withhold them until the end is reset. False if the completion
// queue is broken.
bool RxQueue::Drain(uint32_t outstanding) noexcept {
  uint32_t empty_polls = 0;
  while (outstanding != 0 && empty_polls < kMaxEmptyPolls) {
    const int count = cq_->Poll(work_->completions);
    if (count < 0) return false;
    if (count == 0) {
      ++empty_polls;
    } else {
      outstanding -= std::min(outstanding, static_cast<uint32_t>(count));
    }
  }
  return true;
}

}  // namespace weir
