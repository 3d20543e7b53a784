#include "weir/hca/receive_wq.h"

#include <cerrno>
#include <mutex>

#include "weir/hca/port.h"
#include "weir/hca/raw_enum.h"

namespace weir::hca {
namespace {

// To RESET one comes from everywhere, to RDY from RESET, to ERR from RDY; where
// one is already one may go.
bool Exists(ibv_wq_state from, unsigned to) {
  return to == IBV_WQS_RESET || to == from ||
         (from == IBV_WQS_RESET && to == IBV_WQS_RDY) ||
         (from == IBV_WQS_RDY && to == IBV_WQS_ERR);
}

}  // namespace

ReceiveWq::ReceiveWq(const Options& options, Port& port, MrTable& regions,
                     AsyncEvents& events)
    : port_(port),
      cq_(options.cq),
      receives_(*options.cq,
                {.number = options.number,
                 .depth = options.depth,
                 .max_sge = options.max_sge,
                 .strips_cvlan = options.strips_cvlan},
                regions, options.pd),
      events_(events) {
  context = options.pd->context;
  pd = options.pd;
  cq = options.cq->public_cq();
  wq_num = handle = options.number;
  state = IBV_WQS_RESET;
  wq_type = IBV_WQT_RQ;
  failure_.event.element.wq = this;
  post_recv = [](ibv_wq* wq, ibv_recv_wr* wr, ibv_recv_wr** bad) {
    return Of(wq).receives_.Post(wr, bad);
  };
  // From here on other threads may come by.
  port_.AddWorkQueue(this);
}

ReceiveWq::~ReceiveWq() {
  port_.RemoveWorkQueue(this);
  receives_.Enter(WorkState::kRefuses);
  const uint32_t taken = events_.Drop(failure_);
  if (taken > 0) {
    pthread_mutex_lock(&mutex);
    while (events_completed != taken) pthread_cond_wait(&cond, &mutex);
    pthread_mutex_unlock(&mutex);
  }
}

int ReceiveWq::Modify(const ibv_wq_attr& attr) {
  constexpr uint32_t kKnown =
      IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE | IBV_WQ_ATTR_FLAGS;
  if (attr.attr_mask == 0 || (attr.attr_mask & ~kKnown) != 0) return EINVAL;
  const bool sets_flags = (attr.attr_mask & IBV_WQ_ATTR_FLAGS) != 0;
  if (sets_flags &&
      (attr.flags_mask & ~uint32_t{IBV_WQ_FLAGS_CVLAN_STRIPPING}) != 0) {
    return EOPNOTSUPP;
  }
  const std::lock_guard hold(modify_lock_);
  // Under the lock: what is not in RESET by then fails with the device.
  if (port_.removed()) return EIO;
  const ibv_wq_state from = StateNow();
  if ((attr.attr_mask & IBV_WQ_ATTR_CURR_STATE) != 0 &&
      RawEnum(attr.curr_wq_state) != from) {
    return EINVAL;
  }
  const unsigned to = (attr.attr_mask & IBV_WQ_ATTR_STATE) != 0
                          ? RawEnum(attr.wq_state)
                          : unsigned{from};
  if (to > IBV_WQS_ERR || !Exists(from, to)) return EINVAL;
  if (sets_flags && (attr.flags_mask & IBV_WQ_FLAGS_CVLAN_STRIPPING) != 0) {
    receives_.StripCvlan((attr.flags & IBV_WQ_FLAGS_CVLAN_STRIPPING) != 0);
  }
  if (to == IBV_WQS_RESET) {
    receives_.Enter(WorkState::kRefuses);
    reported_ = false;
  } else if (to != from) {
    receives_.Enter(to == IBV_WQS_RDY ? WorkState::kWorks
                                      : WorkState::kFlushes);
  }
  state = static_cast<ibv_wq_state>(to);
  return 0;
}

// A completion with an error moves the queue to ERR behind its state.
ibv_wq_state ReceiveWq::StateNow() noexcept {
  if (receives_.failed()) state = IBV_WQS_ERR;
  return state;
}

void ReceiveWq::FailNow() noexcept {
  {
    const std::lock_guard hold(modify_lock_);
    if (state == IBV_WQS_RESET) return;
    receives_.Fail();
  }
  ReportFailure();
}

void ReceiveWq::ReportFailure() noexcept {
  const std::lock_guard hold(modify_lock_);
  if (!receives_.failed() || reported_) return;
  state = IBV_WQS_ERR;
  reported_ = true;
  events_.Raise(failure_);
}

}  // namespace weir::hca
