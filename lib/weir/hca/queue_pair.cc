#include "weir/hca/queue_pair.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <mutex>

#include "weir/hca/limits.h"
#include "weir/hca/raw_enum.h"

namespace weir::hca {
namespace {

// The mask that a transition wants, exactly; -1 where there is no such
// transition. To RESET one comes from everywhere, to ERR from everywhere but
// RESET, as in the table of ib_modify_qp_is_ok of Linux.
int WantedMask(ibv_qp_state from, ibv_qp_state to) {
  if (to == IBV_QPS_RESET) return IBV_QP_STATE;
  if (to == IBV_QPS_ERR) return from == IBV_QPS_RESET ? -1 : IBV_QP_STATE;
  if (from == IBV_QPS_RESET && to == IBV_QPS_INIT) {
    return IBV_QP_STATE | IBV_QP_PORT;
  }
  const bool exists = (from == IBV_QPS_INIT && to == IBV_QPS_INIT) ||
                      (from == IBV_QPS_INIT && to == IBV_QPS_RTR) ||
                      (from == IBV_QPS_RTR && to == IBV_QPS_RTS) ||
                      (from == IBV_QPS_RTS && to == IBV_QPS_RTS);
  return exists ? IBV_QP_STATE : -1;
}

WorkState ReceivesIn(ibv_qp_state state) {
  switch (state) {
    case IBV_QPS_INIT:
      return WorkState::kQueues;
    case IBV_QPS_RTR:
    case IBV_QPS_RTS:
      return WorkState::kWorks;
    case IBV_QPS_ERR:
      return WorkState::kFlushes;
    default:
      return WorkState::kRefuses;
  }
}

WorkState SendsIn(ibv_qp_state state) {
  if (state == IBV_QPS_RTS) return WorkState::kWorks;
  if (state == IBV_QPS_ERR) return WorkState::kFlushes;
  return WorkState::kRefuses;
}

}  // namespace

int RoundCapabilities(ibv_qp_cap& cap) {
  if (cap.max_send_wr > kMaxQpWr || cap.max_recv_wr > kMaxQpWr ||
      cap.max_send_sge > kMaxSge || cap.max_recv_sge > kMaxSge ||
      cap.max_inline_data > kMaxInlineBytes) {
    return EINVAL;
  }
  // 0 stands for a queue that is not there.
  if (cap.max_send_wr > 0) {
    cap.max_send_wr = std::bit_ceil(cap.max_send_wr);
    cap.max_send_sge = std::max(cap.max_send_sge, 1u);
  }
  if (cap.max_recv_wr > 0) {
    cap.max_recv_wr = std::bit_ceil(cap.max_recv_wr);
    cap.max_recv_sge = std::max(cap.max_recv_sge, 1u);
  }
  return 0;
}

QueuePair::QueuePair(const Options& options, Port& port, MrTable& regions,
                     AsyncEvents& events)
    : port_(port),
      send_cq_(options.send_cq),
      recv_cq_(options.recv_cq),
      table_(options.table),
      events_(events),
      cap_(options.cap),
      signal_all_(options.signal_all) {
  qp_base.context = options.pd->context;
  qp_base.qp_context = options.qp_context;
  qp_base.pd = options.pd;
  qp_base.handle = options.number;
  qp_base.qp_num = options.number;
  qp_base.state = IBV_QPS_RESET;
  qp_base.qp_type = IBV_QPT_RAW_PACKET;
  if (options.table == nullptr) {
    qp_base.send_cq = options.send_cq->public_cq();
    qp_base.recv_cq = options.recv_cq->public_cq();
  }
  failure_.event.element.qp = &qp_base;
  MakeQueues(options, regions);
  pthread_mutex_init(&qp_base.mutex, nullptr);
  pthread_cond_init(&qp_base.cond, nullptr);
  // From here on other threads may come by.
  port_.AddQueuePair(this);
}

void QueuePair::MakeQueues(const Options& options, MrTable& regions) {
  if (options.table != nullptr) {
    rss_ = std::make_unique<const Spread>(
        Spread{.table = options.table, .hash = RssHash(*options.hash)});
    return;
  }
  if (cap_.max_recv_wr > 0) {
    receives_.emplace(
        *options.recv_cq,
        ReceiveQueue::Options{.number = options.number,
                              .depth = cap_.max_recv_wr,
                              .max_sge = cap_.max_recv_sge,
                              .strips_cvlan = options.strips_cvlan},
        regions, options.pd);
  }
  if (cap_.max_send_wr > 0) {
    sends_.emplace(
        *options.send_cq, port_,
        SendQueue::Options{.number = options.number,
                           .depth = cap_.max_send_wr,
                           .max_sge = cap_.max_send_sge,
                           .max_inline_bytes = cap_.max_inline_data,
                           .max_tso_header_bytes = options.max_tso_header_bytes,
                           .signal_all = options.signal_all},
        regions, options.pd);
  }
  if (options.send_operations.has_value()) {
    batch_ = std::make_unique<SendBatch>(
        SendBatch::Options{.depth = cap_.max_send_wr,
                           .max_sge = cap_.max_send_sge,
                           .max_inline_bytes = cap_.max_inline_data,
                           .max_tso_header_bytes = options.max_tso_header_bytes,
                           .operations = *options.send_operations});
    FillSendOperations(*this);
  }
}

QueuePair::~QueuePair() {
  port_.RemoveQueuePair(this);
  MoveQueues(IBV_QPS_RESET);
  const uint32_t taken = events_.Drop(failure_);
  pthread_mutex_lock(&qp_base.mutex);
  while (qp_base.events_completed != taken) {
    pthread_cond_wait(&qp_base.cond, &qp_base.mutex);
  }
  pthread_mutex_unlock(&qp_base.mutex);
  pthread_cond_destroy(&qp_base.cond);
  pthread_mutex_destroy(&qp_base.mutex);
}

void QueuePair::MoveQueues(ibv_qp_state to) {
  if (receives_.has_value()) receives_->Enter(ReceivesIn(to));
  if (sends_.has_value()) port_.CountUnsent(sends_->Enter(SendsIn(to)));
}

int QueuePair::Modify(const ibv_qp_attr& attr, int mask) {
  const std::lock_guard hold(modify_lock_);
  // Under the lock: what is not in RESET by then fails with the device.
  if (port_.removed()) return EIO;
  const ibv_qp_state from = StateNow();
  const unsigned wanted = RawEnum(attr.qp_state);
  if (((mask & IBV_QP_STATE) != 0 && wanted > IBV_QPS_ERR) ||
      ((mask & IBV_QP_CUR_STATE) != 0 && RawEnum(attr.cur_qp_state) != from)) {
    return EINVAL;
  }
  const ibv_qp_state to =
      (mask & IBV_QP_STATE) != 0 ? static_cast<ibv_qp_state>(wanted) : from;
  if (WantedMask(from, to) != ((mask & ~IBV_QP_CUR_STATE) | IBV_QP_STATE) ||
      ((mask & IBV_QP_PORT) != 0 && attr.port_num != kPortNumber)) {
    return EINVAL;
  }
  if (rss_ != nullptr && to == IBV_QPS_RTS) return EINVAL;
  if (from == to && to != IBV_QPS_ERR) return 0;
  MoveQueues(to);
  if (to == IBV_QPS_RESET) told_of_failure_ = false;
  qp_base.state = to;
  return 0;
}

// A completion with an error moves the queue pair to ERR behind its state.
ibv_qp_state QueuePair::StateNow() {
  if (HasFailed()) qp_base.state = IBV_QPS_ERR;
  return qp_base.state;
}

void QueuePair::FollowFailure() noexcept {
  if (rss_ != nullptr) {
    for (ReceiveWq* wq : rss_->table->entries()) wq->ReportFailure();
    return;
  }
  const std::lock_guard hold(modify_lock_);
  if (HasFailed()) FailLocked();
}

// A post has failed it, maybe because a completion queue overran, which others
// may share.
void QueuePair::FollowWithOthers() noexcept {
  MarkFailed();
  port_.FollowFailures();
}

void QueuePair::FollowOverrun() noexcept {
  if (rss_ != nullptr) return;
  if (CompletionQueue::Of(qp_base.send_cq).failed() ||
      CompletionQueue::Of(qp_base.recv_cq).failed()) {
    FailNow();
  }
}

void QueuePair::FailNow() noexcept {
  if (rss_ != nullptr) {
    for (ReceiveWq* wq : rss_->table->entries()) wq->FailNow();
    return;
  }
  const std::lock_guard hold(modify_lock_);
  if (StateNow() != IBV_QPS_RESET) FailLocked();
}

bool QueuePair::FailNextSend(ibv_wc_status status) noexcept {
  if (!sends_.has_value() || !sends_->FailNext(status)) return false;
  FollowFailure();
  return true;
}

void QueuePair::OverrunCompletionQueues() noexcept {
  if (rss_ != nullptr) {
    for (ReceiveWq* wq : rss_->table->entries()) wq->receives().cq().Overrun();
    return;
  }
  CompletionQueue::Of(qp_base.send_cq).Overrun();
  CompletionQueue::Of(qp_base.recv_cq).Overrun();
}

void QueuePair::FailLocked() noexcept {
  qp_base.state = IBV_QPS_ERR;
  if (receives_.has_value()) receives_->Fail();
  if (sends_.has_value()) sends_->Fail();
  if (told_of_failure_) return;
  told_of_failure_ = true;
  events_.Raise(failure_);
}

int QueuePair::PostBatch() noexcept {
  SendQueue::Fate fate = SendQueue::Fate::kUnchanged;
  int error = batch_->error();
  if (error == 0) {
    error = sends_.has_value() ? sends_->PostAll(batch_->Link(), fate) : EINVAL;
  }
  batch_->End();
  if (fate == SendQueue::Fate::kFailed) FollowWithOthers();
  return error;
}

void QueuePair::Query(ibv_qp_attr& attr, ibv_qp_init_attr& init) {
  // A completion queue may have failed that nobody has polled since.
  port_.FollowFailures();
  const std::lock_guard hold(modify_lock_);
  attr = {};
  attr.qp_state = attr.cur_qp_state = StateNow();
  attr.cap = cap_;
  attr.port_num = attr.qp_state == IBV_QPS_RESET ? 0 : kPortNumber;
  init = {};
  init.qp_context = qp_base.qp_context;
  init.send_cq = qp_base.send_cq;
  init.recv_cq = qp_base.recv_cq;
  init.cap = cap_;
  init.qp_type = qp_base.qp_type;
  init.sq_sig_all = signal_all_ ? 1 : 0;
}

}  // namespace weir::hca
