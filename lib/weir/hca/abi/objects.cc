// Entry points that create, change and destroy the objects of raw packet I/O.

#include <infiniband/verbs.h>

#include <bit>
#include <cerrno>

#include "weir/hca/abi/owner.h"
#include "weir/hca/abi/real_library.h"
#include "weir/hca/context.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

using weir::hca::Context;
using weir::hca::MrView;
using weir::hca::OwnContext;
using weir::hca::RealFunction;

namespace {

MrView RangeOf(void* address, size_t bytes, uint64_t iova) {
  return {.lkey = 0,
          .iova = iova,
          .length_bytes = bytes,
          .address = static_cast<std::byte*>(address)};
}

// Counts an acknowledged event and wakes who waits for it.
template <typename T>
void Acknowledge(T* object, uint32_t T::*counter, uint32_t count) {
  pthread_mutex_lock(&object->mutex);
  object->*counter += count;
  pthread_cond_signal(&object->cond);
  pthread_mutex_unlock(&object->mutex);
}

}  // namespace

extern "C" {

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  static constinit RealFunction<ibv_pd*(ibv_context*)> real{"ibv_alloc_pd",
                                                            "IBVERBS_1.1"};
  Context* own = OwnContext(context);
  return own != nullptr ? own->AllocPd() : real(context);
}

int ibv_dealloc_pd(ibv_pd* pd) {
  static constinit RealFunction<int(ibv_pd*)> real{"ibv_dealloc_pd",
                                                   "IBVERBS_1.1"};
  Context* own = OwnContext(pd->context);
  return own != nullptr ? own->DeallocPd(pd) : real(pd);
}

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, size_t bytes, int access) {
  static constinit RealFunction<ibv_mr*(ibv_pd*, void*, size_t, int)> real{
      "ibv_reg_mr", "IBVERBS_1.1"};
  Context* own = OwnContext(pd->context);
  if (own == nullptr) return real(pd, address, bytes, access);
  return own->RegisterMr(
      pd, RangeOf(address, bytes, std::bit_cast<uintptr_t>(address)),
      static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, size_t bytes, uint64_t iova,
                        int access) {
  static constinit RealFunction<ibv_mr*(ibv_pd*, void*, size_t, uint64_t, int)>
      real{"ibv_reg_mr_iova", "IBVERBS_1.7"};
  Context* own = OwnContext(pd->context);
  if (own == nullptr) return real(pd, address, bytes, iova, access);
  return own->RegisterMr(pd, RangeOf(address, bytes, iova),
                         static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, size_t bytes, uint64_t iova,
                         unsigned access) {
  static constinit RealFunction<ibv_mr*(ibv_pd*, void*, size_t, uint64_t,
                                        unsigned)>
      real{"ibv_reg_mr_iova2", "IBVERBS_1.8"};
  Context* own = OwnContext(pd->context);
  if (own == nullptr) return real(pd, address, bytes, iova, access);
  return own->RegisterMr(pd, RangeOf(address, bytes, iova), access);
}

int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, size_t bytes,
                 int access) {
  static constinit RealFunction<int(ibv_mr*, int, ibv_pd*, void*, size_t, int)>
      real{"ibv_rereg_mr", "IBVERBS_1.1"};
  Context* own = OwnContext(mr->context);
  if (own == nullptr) return real(mr, flags, pd, address, bytes, access);
  return own->ReregisterMr(
      mr, flags, pd, RangeOf(address, bytes, std::bit_cast<uintptr_t>(address)),
      static_cast<unsigned>(access));
}

int ibv_dereg_mr(ibv_mr* mr) {
  static constinit RealFunction<int(ibv_mr*)> real{"ibv_dereg_mr",
                                                   "IBVERBS_1.1"};
  Context* own = OwnContext(mr->context);
  return own != nullptr ? own->DeregisterMr(mr) : real(mr);
}

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  static constinit RealFunction<ibv_comp_channel*(ibv_context*)> real{
      "ibv_create_comp_channel", "IBVERBS_1.0"};
  Context* own = OwnContext(context);
  return own != nullptr ? own->CreateChannel() : real(context);
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  static constinit RealFunction<int(ibv_comp_channel*)> real{
      "ibv_destroy_comp_channel", "IBVERBS_1.0"};
  Context* own = OwnContext(channel->context);
  return own != nullptr ? own->DestroyChannel(channel) : real(channel);
}

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cq_context,
                      ibv_comp_channel* channel, int vector) {
  static constinit RealFunction<ibv_cq*(ibv_context*, int, void*,
                                        ibv_comp_channel*, int)>
      real{"ibv_create_cq", "IBVERBS_1.1"};
  Context* own = OwnContext(context);
  if (own == nullptr)
    return real(context, entries, cq_context, channel, vector);
  return own->CreateCq(entries, cq_context, channel, vector);
}

int ibv_resize_cq(ibv_cq* cq, int entries) {
  static constinit RealFunction<int(ibv_cq*, int)> real{"ibv_resize_cq",
                                                        "IBVERBS_1.1"};
  Context* own = OwnContext(cq->context);
  return own != nullptr ? own->ResizeCq(cq, entries) : real(cq, entries);
}

int ibv_destroy_cq(ibv_cq* cq) {
  static constinit RealFunction<int(ibv_cq*)> real{"ibv_destroy_cq",
                                                   "IBVERBS_1.1"};
  Context* own = OwnContext(cq->context);
  return own != nullptr ? own->DestroyCq(cq) : real(cq);
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq,
                     void** cq_context) {
  static constinit RealFunction<int(ibv_comp_channel*, ibv_cq**, void**)> real{
      "ibv_get_cq_event", "IBVERBS_1.1"};
  if (OwnContext(channel->context) == nullptr) {
    return real(channel, cq, cq_context);
  }
  return static_cast<weir::hca::CompChannel*>(channel)->Take(cq, cq_context);
}

// Touches public fields only, so it is the same for real and soft objects.
void ibv_ack_cq_events(ibv_cq* cq, unsigned count) {
  if (count > 0) Acknowledge(cq, &ibv_cq::comp_events_completed, count);
}

void ibv_ack_async_event(ibv_async_event* event) {
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
      Acknowledge(event->element.cq, &ibv_cq::async_events_completed, 1);
      return;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      Acknowledge(event->element.qp, &ibv_qp::events_completed, 1);
      return;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      Acknowledge(event->element.srq, &ibv_srq::events_completed, 1);
      return;
    case IBV_EVENT_WQ_FATAL:
      Acknowledge(event->element.wq, &ibv_wq::events_completed, 1);
      return;
    default:
      return;
  }
}

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) {
  static constinit RealFunction<ibv_qp*(ibv_pd*, ibv_qp_init_attr*)> real{
      "ibv_create_qp", "IBVERBS_1.1"};
  Context* own = OwnContext(pd->context);
  return own != nullptr ? own->CreateQp(pd, *attr) : real(pd, attr);
}

// Null for a queue pair that was created without ibv_wr_*.
ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  static constinit RealFunction<ibv_qp_ex*(ibv_qp*)> real{"ibv_qp_to_qp_ex",
                                                          "IBVERBS_1.6"};
  if (OwnContext(qp->context) == nullptr) return real(qp);
  weir::hca::QueuePair& own = weir::hca::QueuePair::Of(qp);
  return own.batch() != nullptr ? &own : nullptr;
}

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  static constinit RealFunction<int(ibv_qp*, ibv_qp_attr*, int)> real{
      "ibv_modify_qp", "IBVERBS_1.1"};
  if (OwnContext(qp->context) == nullptr) return real(qp, attr, mask);
  if (weir::hca::Context::Of(qp->context).gone()) return EIO;
  return weir::hca::QueuePair::Of(qp).Modify(*attr, mask);
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask,
                 ibv_qp_init_attr* init) {
  static constinit RealFunction<int(ibv_qp*, ibv_qp_attr*, int,
                                    ibv_qp_init_attr*)>
      real{"ibv_query_qp", "IBVERBS_1.1"};
  if (OwnContext(qp->context) == nullptr) return real(qp, attr, mask, init);
  weir::hca::QueuePair::Of(qp).Query(*attr, *init);
  return 0;
}

int ibv_destroy_qp(ibv_qp* qp) {
  static constinit RealFunction<int(ibv_qp*)> real{"ibv_destroy_qp",
                                                   "IBVERBS_1.1"};
  Context* own = OwnContext(qp->context);
  return own != nullptr ? own->DestroyQp(qp) : real(qp);
}

int ibv_attach_mcast(ibv_qp* qp, const union ibv_gid* gid, uint16_t lid) {
  static constinit RealFunction<int(ibv_qp*, const union ibv_gid*, uint16_t)>
      real{"ibv_attach_mcast", "IBVERBS_1.1"};
  Context* own = OwnContext(qp->context);
  return own != nullptr ? own->AttachMulticast(qp, *gid, lid)
                        : real(qp, gid, lid);
}

int ibv_detach_mcast(ibv_qp* qp, const union ibv_gid* gid, uint16_t lid) {
  static constinit RealFunction<int(ibv_qp*, const union ibv_gid*, uint16_t)>
      real{"ibv_detach_mcast", "IBVERBS_1.1"};
  Context* own = OwnContext(qp->context);
  return own != nullptr ? own->DetachMulticast(qp, *gid, lid)
                        : real(qp, gid, lid);
}

}  // extern "C"
