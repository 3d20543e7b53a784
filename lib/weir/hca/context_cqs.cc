// The completion queues of a context.

#include <cerrno>

#include "weir/hca/context.h"
#include "weir/hca/limits.h"
#include "weir/hca/refuse.h"

namespace weir::hca {
namespace {

// What an extended poll can read. That of fields which raw packets do not have
// gives zero, for programs ask for all of the standard ones.
constexpr uint64_t kWcFlags = uint64_t{IBV_WC_STANDARD_FLAGS} |
                              IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                              IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK |
                              IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_FLOW_TAG;

// Taken as promises of the program, which change nothing: a queue that one
// thread polls finds its lock free, and one that overruns all the same fails.
constexpr uint32_t kCqFlags =
    IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;

}  // namespace

CompletionQueue* Context::MakeCq(const CompletionQueue::Options& options,
                                 uint32_t vector) {
  if (gone()) return Refuse<CompletionQueue>(EIO);
  if (options.entries < 1 || options.entries > kMaxCqe ||
      vector >= kCompVectors ||
      (options.channel != nullptr && options.channel->context != &context)) {
    return Refuse<CompletionQueue>(EINVAL);
  }
  if (!Count(cqs_, kMaxCq)) return Refuse<CompletionQueue>(ENOMEM);
  auto* cq = TryNew<CompletionQueue>(options, *port_, events_);
  if (cq == nullptr) {
    Uncount(cqs_);
    return Refuse<CompletionQueue>(ENOMEM);
  }
  return cq;
}

ibv_cq* Context::CreateCq(int entries, void* cq_context,
                          ibv_comp_channel* channel, int vector) {
  if (entries < 1 || vector < 0) return Refuse<ibv_cq>(EINVAL);
  CompletionQueue* const cq =
      MakeCq({.context = &context,
              .cq_context = cq_context,
              .channel = static_cast<CompChannel*>(channel),
              .entries = static_cast<uint32_t>(entries)},
             static_cast<uint32_t>(vector));
  return cq == nullptr ? nullptr : cq->public_cq();
}

ibv_cq_ex* Context::CreateCqEx(const ibv_cq_init_attr_ex& attr) {
  constexpr uint32_t kMasks =
      IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
  if ((attr.wc_flags & ~kWcFlags) != 0) return Refuse<ibv_cq_ex>(EOPNOTSUPP);
  if ((attr.comp_mask & ~kMasks) != 0 ||
      ((attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 &&
       (attr.flags & ~kCqFlags) != 0) ||
      ((attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0 &&
       (attr.parent_domain == nullptr ||
        attr.parent_domain->context != &context))) {
    return Refuse<ibv_cq_ex>(EINVAL);
  }
  return MakeCq({.context = &context,
                 .cq_context = attr.cq_context,
                 .channel = static_cast<CompChannel*>(attr.channel),
                 .entries = attr.cqe,
                 .wc_flags = attr.wc_flags},
                attr.comp_vector);
}

int Context::ResizeCq(ibv_cq* cq, int entries) {
  if (gone()) return EIO;
  if (entries < 1 || static_cast<uint32_t>(entries) > kMaxCqe) return EINVAL;
  return IfMemory<int>(
      [&] {
        return CompletionQueue::Of(cq).Resize(static_cast<uint32_t>(entries));
      },
      ENOMEM);
}

int Context::DestroyCq(ibv_cq* cq) {
  if (IsInherited()) return 0;
  CompletionQueue* const whole = &CompletionQueue::Of(cq);
  if (whole->in_use()) return EBUSY;
  delete whole;
  Uncount(cqs_);
  return 0;
}

}  // namespace weir::hca
