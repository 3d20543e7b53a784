#include "weir/verbs/work_queue.h"

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "weir/base/errno_status.h"
#include "weir/verbs/raw_packet_error.h"

namespace weir::verbs {
namespace {

// As for queue pairs: a queue of fewer is of no use.
constexpr uint32_t kMinDepth = 32;

ibv_wq* TryCreate(const ProtectionDomain& domain, const CompletionQueue& cq,
                  WorkQueueOptions& options) {
  ibv_wq_init_attr attributes{};
  attributes.wq_type = IBV_WQT_RQ;
  attributes.max_wr = options.depth;
  attributes.max_sge = options.segments;
  attributes.pd = domain.get();
  attributes.cq = cq.get();
  ibv_wq* wq = ibv_create_wq(domain.get()->context, &attributes);
  if (wq != nullptr) {
    options.depth = attributes.max_wr;
    options.segments = attributes.max_sge;
  }
  return wq;
}

absl::string_view StateName(ibv_wq_state state) {
  switch (state) {
    case IBV_WQS_RESET:
      return "ibv_modify_wq to RESET";
    case IBV_WQS_RDY:
      return "ibv_modify_wq to RDY";
    default:
      return "ibv_modify_wq to ERR";
  }
}

}  // namespace

absl::StatusOr<WorkQueue> WorkQueue::Create(const ProtectionDomain& domain,
                                            const CompletionQueue& cq,
                                            const WorkQueueOptions& options) {
  WorkQueueOptions attempt = options;
  for (;;) {
    ibv_wq* wq = TryCreate(domain, cq, attempt);
    if (wq != nullptr) return WorkQueue(domain.device_name(), wq, attempt);
    const int error = errno;
    const bool too_large = error == EINVAL || error == ENOMEM;
    if (!too_large || attempt.depth < 2 * kMinDepth) {
      const std::string object = absl::StrCat(
          domain.device_name(), ": cannot create a work queue (", attempt.depth,
          " receives of ", attempt.segments, " segments)");
      return RssError(error, {.object = object, .call = "ibv_create_wq"});
    }
    attempt.depth /= 2;
  }
}

int WorkQueue::Modify(ibv_wq_state state) noexcept {
  ibv_wq_attr attributes{};
  attributes.attr_mask = IBV_WQ_ATTR_STATE;
  attributes.wq_state = state;
  return ibv_modify_wq(wq_.get(), &attributes);
}

absl::Status WorkQueue::ModifyOrStatus(ibv_wq_state state) {
  const int error = Modify(state);
  if (error == 0) return absl::OkStatus();
  return ErrnoStatus(error, {.object = device_name_, .call = StateName(state)});
}

}  // namespace weir::verbs
