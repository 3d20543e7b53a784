#include "weir/port/tx_queue.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>

#include "weir/base/tsc_clock.h"
#include "weir/net/ethernet.h"
#include "weir/port/pad_frame.h"
#include "weir/port/port_health.h"
#include "weir/port/port_info.h"
#include "weir/verbs/soft_hca.h"

namespace weir {
namespace {

// Segments of a frame that are asked for at least: what stages put in front of
// and between the parts of a received frame.
constexpr uint32_t kMinSegments = 8;
// As in rx_queue.cc.
constexpr uint32_t kMaxEmptyPolls = 1000;
constexpr uint64_t kMsPerSecond = 1000;

// wr_id of a signalled request: up to where its completion counts, in frames
// and in segments.
constexpr uint64_t PackId(uint32_t frames, uint32_t segments) noexcept {
  return uint64_t{frames} << 32 | segments;
}

// As many as the longest frame may have, if the device takes them. That is a
// fragment: an mbuf with its headers, and what it has of a packet whose
// segments leave their headroom free, from the last byte of one of them on.
uint32_t Segments(const PortContext& context, const MbufPool& pool) {
  const auto frame_bytes =
      static_cast<uint32_t>(context.info.mtu_bytes + net::kL2OverheadBytes);
  const uint32_t room_bytes = pool.chunk_bytes() - pool.headroom_bytes();
  const uint32_t behind_first = (frame_bytes - 1 + room_bytes - 1) / room_bytes;
  return std::min(std::max(kMinSegments, 2 + behind_first),
                  static_cast<uint32_t>(context.device->attributes().max_sge));
}

}  // namespace

absl::StatusOr<TxQueue> TxQueue::Create(std::shared_ptr<PortContext> context,
                                        const MbufPool& pool,
                                        const Options& options) {
  absl::StatusOr<End> end =
      CreateEnd(*context, options.depth, Segments(*context, pool));
  if (!end.ok()) return end.status();
  const Options obtained = {.depth = std::bit_floor(std::min(
                                options.depth, end->qp.obtained().send_depth)),
                            .index = options.index,
                            .watchdog_ms = options.watchdog_ms};
  return TxQueue(std::move(context), *std::move(end), obtained);
}

absl::StatusOr<TxQueue::End> TxQueue::CreateEnd(const PortContext& context,
                                                uint32_t depth,
                                                uint32_t segments) {
  absl::StatusOr<verbs::CompletionQueue> cq =
      verbs::CompletionQueue::Create(*context.device, depth);
  if (!cq.ok()) return cq.status();
  absl::StatusOr<verbs::QueuePair> qp = verbs::QueuePair::Create(
      context.domain, *cq, *cq,
      {.send_depth = depth, .send_segments = segments});
  if (!qp.ok()) return qp.status();
  for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    const absl::Status ready =
        qp->ModifyOrStatus(state, context.info.device_port);
    if (!ready.ok()) return ready;
  }
  return End{*std::move(cq), *std::move(qp)};
}

TxQueue::TxQueue(std::shared_ptr<PortContext> context, End end,
                 const Options& options)
    : counters_(std::make_shared<TxCounters>()),
      work_(std::make_unique<Work>()),
      depth_(options.depth),
      max_list_(std::clamp(depth_ / 4, 1U, kMaxBurst)),
      watchdog_tsc_(options.watchdog_ms == 0
                        ? UINT64_MAX
                        : TscHz() / kMsPerSecond * options.watchdog_ms),
      min_frame_bytes_(context->info.is_soft ? 1 : net::kMinFrameBytes),
      max_frame_bytes_(static_cast<uint32_t>(context->info.mtu_bytes +
                                             net::kL2OverheadBytes)),
      max_segments_(std::max(end.qp.obtained().send_segments, 1U)),
      backoff_(TscHz()),
      context_(std::move(context)),
      name_(QueueName(context_->info, "tx", options.index,
                      context_->info.queues.tx)),
      shadow_(std::bit_ceil(std::max(2 * depth_, kMaxBurst * max_segments_))),
      end_(std::move(end)) {
  work_->sges.resize(size_t{kMaxBurst} * max_segments_);
  for (ibv_sge& sge : work_->sges) sge.lkey = context_->region.lkey();
  for (uint32_t i = 0; i < kMaxBurst; ++i) {
    work_->requests[i] = {};
    work_->requests[i].next = &work_->requests[(i + 1) % kMaxBurst];
    work_->requests[i].opcode = IBV_WR_SEND;
  }
}

void TxQueue::Send(Burst& burst, Lcore& lcore) noexcept {
  while (!burst.empty()) {
    // Which may find that the QP has failed.
    if (posted_ - completed_ == depth_) Reap(lcore);
    if (state_ != State::kSending) [[unlikely]] {
      if (!Start(lcore)) return DropIfHopeless(burst, lcore);
    }
    const uint32_t room = depth_ - (posted_ - completed_);
    const uint32_t count = Build(burst, std::min(room, max_list_), lcore);
    if (count != 0) {
      if (!Post(burst, count, lcore)) return;
    } else if (room == 0 || !DropUnsendable(burst, lcore)) {
      return DropIfLinkIsDown(burst);
    }
  }
}

// Writes requests for up to `max` frames from the front, and returns for how
// many: it stops where there is no room for the segments of the next one, or
// where that can never be sent.
uint32_t TxQueue::Build(const Burst& burst, uint32_t max,
                        Lcore& lcore) noexcept {
  const std::span<Mbuf* const> frames = burst.mbufs();
  const uint32_t limit = std::min(max, burst.size());
  const uint32_t min_bytes = min_frame_bytes_;
  const uint32_t span_bytes = max_frame_bytes_ - min_bytes;
  const uint32_t max_segments = max_segments_;
  ibv_send_wr* const requests = work_->requests.data();
  ibv_sge* sge = work_->sges.data();
  uint32_t position = shadow_.end();
  const uint32_t position_limit = position + shadow_.room();
  shadow_position_ = position;
  uint64_t bytes = 0;
  bool may_share = false;
  uint32_t count = 0;
  for (; count < limit; ++count) {
    Mbuf& frame = *frames[count];
    if (frame.frame_bytes() - min_bytes > span_bytes) [[unlikely]] {
      if (frame.frame_bytes() == 0 || frame.frame_bytes() > max_frame_bytes_ ||
          !PadFrame(frame, min_bytes, lcore.cache())) {
        break;
      }
    }
    const uint32_t segments = frame.segments();
    if (segments > max_segments || segments > position_limit - position)
        [[unlikely]] {
      break;
    }
    requests[count].sg_list = sge;
    requests[count].num_sge = static_cast<int>(segments);
    bytes += frame.frame_bytes();
    may_share |= frame.may_share();
    for (Mbuf* segment = &frame; segment != nullptr;
         segment = segment->next()) {
      sge->addr = reinterpret_cast<uintptr_t>(segment->data());
      sge->length = segment->data_bytes();
      ++sge;
      shadow_.Place(position++, *segment);
    }
  }
  bytes_ = bytes;
  if (may_share) shadow_.MarkShared(position);
  shadow_.SetEnd(position);
  return count;
}

// Posts the `count` frames that Build wrote, with one completion for all.
// Returns false if the device refused, after Fail.
bool TxQueue::Post(Burst& burst, uint32_t count, Lcore& lcore) noexcept {
  ibv_send_wr& last = work_->requests[count - 1];
  last.wr_id = PackId(posted_ + count, shadow_.end());
  last.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* const rest = std::exchange(last.next, nullptr);
  ibv_send_wr* bad = nullptr;
  const int error = end_.qp.PostSend(work_->requests[0], &bad);
  last.next = rest;
  last.send_flags = 0;
  if (error != 0) [[unlikely]] {
    const auto accepted =
        bad == nullptr ? 0
                       : static_cast<uint32_t>(bad - work_->requests.data());
    Refused(burst, accepted, lcore);
    return false;
  }
  shadow_.UseCache(lcore.cache());
  if (posted_ == completed_) progress_tsc_ = lcore.now_tsc();
  posted_ += count;
  burst.ReleaseFront(count);
  counters_->posts.Add(count);
  counters_->bytes.Add(bytes_);
  UpdateLevels();
  return true;
}

// After a call that posted only the first `accepted` frames of a list: the next
// one is dropped, the others stay in the burst, and since no completion was
// asked for those that were posted, the QP has to start anew.
void TxQueue::Refused(Burst& burst, uint32_t accepted, Lcore& lcore) noexcept {
  uint32_t position = shadow_position_;
  for (uint32_t i = 0; i < accepted; ++i) position += burst[i].segments();
  shadow_.SetEnd(position);
  posted_ += accepted;
  counters_->posts.Add(accepted);
  burst.ReleaseFront(accepted);
  Drop(burst, lcore, counters_->refused);
  Fail(QueueFailure::kRefused, lcore);
}

// Drops the first frame if it can never be sent; false if it can, once there is
// room.
bool TxQueue::DropUnsendable(Burst& burst, Lcore& lcore) noexcept {
  const Mbuf& frame = burst[0];
  if (frame.frame_bytes() == 0) {
    Drop(burst, lcore, counters_->empty);
  } else if (frame.frame_bytes() > max_frame_bytes_) {
    Drop(burst, lcore, counters_->too_long);
  } else if (frame.frame_bytes() < min_frame_bytes_) {
    Drop(burst, lcore, counters_->no_tailroom);
  } else if (frame.segments() > max_segments_) {
    Drop(burst, lcore, counters_->too_many_segments);
  } else {
    return false;
  }
  return true;
}

void TxQueue::Drop(Burst& burst, Lcore& lcore, Counter& reason) noexcept {
  const std::array<Mbuf*, 1> frame{&burst[0]};
  burst.ReleaseFront(1);
  lcore.cache().FreePackets(frame);
  reason.Add(1);
}

// While the QP does not work: frames wait unless it is of no more use, or has
// been failing for long.
void TxQueue::DropIfHopeless(Burst& burst, const Lcore& lcore) noexcept {
  const bool gone = context_->health->state() == PortState::kGone;
  if (!gone && backoff_.FailingFor(lcore.now_tsc()) * kMsPerSecond <
                   TscHz() * kPatienceMs) {
    return;
  }
  (gone ? counters_->port_gone : counters_->queue_broken).Add(burst.size());
  burst.Clear();
}

// For frames that found no room. Without a link there may be none for ever, and
// whoever waits for it does nothing else.
void TxQueue::DropIfLinkIsDown(Burst& burst) noexcept {
  if (context_->health->state() != PortState::kDown) return;
  counters_->link_down.Add(burst.size());
  burst.Clear();
}

void TxQueue::Reap(Lcore& lcore) noexcept {
  if (posted_ == completed_) return;
  shadow_.UseCache(lcore.cache());
  const uint32_t before = completed_;
  const std::optional<QueueFailure> failure = TakeCompletions();
  if (failure) [[unlikely]] {
    Fail(*failure, lcore);
  } else if (completed_ != before) {
    progress_tsc_ = lcore.now_tsc();
  } else if (lcore.now_tsc() - progress_tsc_ > watchdog_tsc_) [[unlikely]] {
    CheckProgress(lcore);
  }
}

// Nothing has completed for long. Without a link nothing may; and a medium that
// has no room is waited for, since what waits there is not lost.
void TxQueue::CheckProgress(Lcore& lcore) noexcept {
  progress_tsc_ = lcore.now_tsc();
  if (context_->health->state() == PortState::kDown) return;
  if (verbs::WaitsForMedium(end_.qp.get())) return;
  Fail(QueueFailure::kStalled, lcore);
}

// Polls once and frees what the completions say; returns why the QP failed if
// one of them is an error, or if the completion queue is broken.
std::optional<QueueFailure> TxQueue::TakeCompletions() noexcept {
  const int count = end_.cq.Poll(work_->completions);
  if (count == 0) return std::nullopt;
  if (count < 0) return QueueFailure::kBrokenCq;
  int good = 0;
  while (good < count && work_->completions[static_cast<size_t>(good)].status ==
                             IBV_WC_SUCCESS) {
    ++good;
  }
  if (good > 0) {
    const uint64_t id = work_->completions[static_cast<size_t>(good - 1)].wr_id;
    const auto frames = static_cast<uint32_t>(id >> 32);
    counters_->completions.Add(frames - completed_);
    completed_ = frames;
    shadow_.FreeUpTo(static_cast<uint32_t>(id));
    backoff_.Succeeded();
    UpdateLevels();
  }
  if (good == count) return std::nullopt;
  return FailureOf(work_->completions[static_cast<size_t>(good)].status);
}

bool TxQueue::Flush(Lcore& lcore) noexcept {
  Reap(lcore);
  return posted_ == completed_;
}

void TxQueue::Arm(Sleep& sleep) noexcept {
  if (posted_ == completed_) return;
  if (!is_armed_) {
    is_armed_ = end_.cq.Arm();
    sleep.MustLookAgain();
  }
  sleep.WaitFor(end_.cq.wake_fd());
  // Time passes for what the device does not complete.
  sleep.WakeWithin(Sleep::kTickNs);
}

bool TxQueue::Start(Lcore& lcore) noexcept {
  if (!backoff_.Due(lcore.now_tsc())) return false;
  if (!(is_cq_broken_ ? Rebuild() : Renew())) {
    backoff_.Failed(lcore.now_tsc());
    return false;
  }
  is_cq_broken_ = false;
  counters_->recoveries.Add(1);
  state_ = State::kSending;
  return true;
}

bool TxQueue::Renew() noexcept {
  for (const ibv_qp_state state :
       {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    if (end_.qp.Modify(state, context_->info.device_port) != 0) return false;
  }
  return true;
}

// Renew with a new completion queue. The old QP goes first, then its queue,
// once there are new ones.
bool TxQueue::Rebuild() noexcept {
  absl::StatusOr<End> anew = CreateEnd(*context_, depth_, max_segments_);
  if (!anew.ok() || anew->qp.obtained().send_depth < depth_ ||
      anew->qp.obtained().send_segments < max_segments_) {
    return false;
  }
  Disarm();
  is_armed_ = false;
  end_.qp = std::move(anew->qp);
  end_.cq = std::move(anew->cq);
  return true;
}

// Stops the QP, takes the completions that still come, and gives up the rest:
// whether those frames were sent cannot be known.
void TxQueue::Fail(QueueFailure failure, Lcore& lcore) noexcept {
  const uint8_t port = context_->info.device_port;
  shadow_.UseCache(lcore.cache());
  end_.qp.Modify(IBV_QPS_ERR, port);
  for (uint32_t i = 0; i < kMaxEmptyPolls && posted_ != completed_; ++i) {
    if (TakeCompletions() == QueueFailure::kBrokenCq) {
      failure = QueueFailure::kBrokenCq;
      break;
    }
  }
  is_cq_broken_ |= failure == QueueFailure::kBrokenCq;
  counters_->failures.Note(failure);
  counters_->errors.Add(1);
  end_.qp.Modify(IBV_QPS_RESET, port);
  // A device may leave completions of a QP that was reset.
  while (end_.cq.Poll(work_->completions) > 0) {
  }
  (failure == QueueFailure::kStalled ? counters_->stalled
                                     : counters_->lost_in_recovery)
      .Add(posted_ - completed_);
  shadow_.FreeUpTo(shadow_.end());
  posted_ = 0;
  completed_ = 0;
  UpdateLevels();
  state_ = State::kFailed;
  backoff_.Failed(lcore.now_tsc());
}

void TxQueue::UpdateLevels() noexcept {
  counters_->held_mbufs.Set(shadow_.size());
  counters_->held_packets.Set(posted_ - completed_);
}

}  // namespace weir
