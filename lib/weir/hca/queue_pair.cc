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
      receives_(*this, *options.recv_cq,
                {.depth = options.cap.max_recv_wr,
                 .max_sge = options.cap.max_recv_sge},
                regions, options.pd),
      sends_(*this, *options.send_cq, port,
             {.depth = options.cap.max_send_wr,
              .max_sge = options.cap.max_send_sge,
              .max_inline_bytes = options.cap.max_inline_data,
              .signal_all = options.signal_all},
             regions, options.pd),
      events_(events),
      cap_(options.cap),
      signal_all_(options.signal_all) {
  context = options.pd->context;
  qp_context = options.qp_context;
  pd = options.pd;
  send_cq = options.send_cq;
  recv_cq = options.recv_cq;
  handle = options.number;
  qp_num = options.number;
  state = IBV_QPS_RESET;
  qp_type = IBV_QPT_RAW_PACKET;
  pthread_mutex_init(&mutex, nullptr);
  pthread_cond_init(&cond, nullptr);
  options.send_cq->Ref();
  options.recv_cq->Ref();
  port_.AddQueuePair(this);
  if (cap_.max_recv_wr > 0) receive_cq().AddReceiver();
}

QueuePair::~QueuePair() {
  port_.RemoveQueuePair(this);
  receives_.Enter(WorkState::kRefuses);
  port_.CountUnsent(sends_.Enter(WorkState::kRefuses));
  if (cap_.max_recv_wr > 0) {
    const std::lock_guard hold(receive_cq().lock());
    receive_cq().RemoveReceiver();
  }
  static_cast<CompletionQueue*>(send_cq)->Unref();
  receive_cq().Unref();
  const uint32_t taken = events_.Drop(this);
  pthread_mutex_lock(&mutex);
  while (events_completed != taken) pthread_cond_wait(&cond, &mutex);
  pthread_mutex_unlock(&mutex);
  pthread_cond_destroy(&cond);
  pthread_mutex_destroy(&mutex);
}

int QueuePair::Modify(const ibv_qp_attr& attr, int mask) {
  const std::lock_guard hold(modify_lock_);
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
  if (from == to && to != IBV_QPS_ERR) return 0;
  receives_.Enter(ReceivesIn(to));
  port_.CountUnsent(sends_.Enter(SendsIn(to)));
  state = to;
  return 0;
}

// A completion with an error moves the queue pair to ERR behind `state`.
ibv_qp_state QueuePair::StateNow() {
  if (HasFailed()) state = IBV_QPS_ERR;
  return state;
}

void QueuePair::FailBoth() noexcept {
  const std::lock_guard hold(modify_lock_);
  if (!HasFailed()) return;
  receives_.Fail();
  sends_.Fail();
}

void QueuePair::Query(ibv_qp_attr& attr, ibv_qp_init_attr& init) {
  const std::lock_guard hold(modify_lock_);
  attr = {};
  attr.qp_state = attr.cur_qp_state = StateNow();
  attr.cap = cap_;
  attr.port_num = attr.qp_state == IBV_QPS_RESET ? 0 : kPortNumber;
  init = {};
  init.qp_context = qp_context;
  init.send_cq = send_cq;
  init.recv_cq = recv_cq;
  init.cap = cap_;
  init.qp_type = qp_type;
  init.sq_sig_all = signal_all_ ? 1 : 0;
}

}  // namespace weir::hca
