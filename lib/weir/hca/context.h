// An open soft device as the program sees it: the table of functions that
// <infiniband/verbs.h> calls through, and the life of all objects.

#ifndef WEIR_HCA_CONTEXT_H_
#define WEIR_HCA_CONTEXT_H_

#include <infiniband/verbs.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "weir/hca/async_events.h"
#include "weir/hca/comp_channel.h"
#include "weir/hca/completion_queue.h"
#include "weir/hca/device.h"
#include "weir/hca/flow/flow.h"
#include "weir/hca/memory_region.h"
#include "weir/hca/port.h"
#include "weir/hca/public_object.h"
#include "weir/hca/queue_pair.h"

namespace weir::hca {

// Creating calls return null and set errno, the others return errno values, as
// the verbs of the same names do. Any thread.
class Context : public PublicObject<verbs_context> {
 public:
  // Null and errno if the device cannot be opened.
  static Context* Open(Device& device);

  // The context around the public part of a soft device's one.
  static Context& Of(ibv_context* context) noexcept {
    auto* bytes = reinterpret_cast<std::byte*>(context);
    return *static_cast<Context*>(reinterpret_cast<verbs_context*>(
        bytes - offsetof(verbs_context, context)));
  }

  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Lives on while objects of it do: programs leak them. Their queues fail,
  // what creates or modifies fails with EIO from here on. In a forked child
  // this and whatever destroys do nothing: the objects are the parent's, and so
  // may be a lock that one of its threads had.
  int Close();

  // ibv_get_async_event: 0, or -1 and errno.
  int TakeAsyncEvent(ibv_async_event& event);

  ibv_pd* AllocPd();
  int DeallocPd(ibv_pd* pd);

  ibv_mr* RegisterMr(ibv_pd* pd, const MrView& range, unsigned access);
  // ibv_rereg_mr: 0, or one of ibv_rereg_mr_err_code and errno, which leaves
  // the region as it was.
  int ReregisterMr(ibv_mr* mr, int flags, ibv_pd* pd, const MrView& range,
                   unsigned access);
  int DeregisterMr(ibv_mr* mr);

  ibv_comp_channel* CreateChannel();
  int DestroyChannel(ibv_comp_channel* channel);

  ibv_cq* CreateCq(int entries, void* cq_context, ibv_comp_channel* channel,
                   int vector);
  ibv_cq_ex* CreateCqEx(const ibv_cq_init_attr_ex& attr);
  int ResizeCq(ibv_cq* cq, int entries);
  int DestroyCq(ibv_cq* cq);

  ibv_qp* CreateQp(ibv_pd* pd, ibv_qp_init_attr& attr);
  ibv_qp* CreateQpEx(ibv_qp_init_attr_ex& attr);
  int DestroyQp(ibv_qp* qp);

  ibv_wq* CreateWq(ibv_wq_init_attr& attr);
  int DestroyWq(ibv_wq* wq);
  ibv_rwq_ind_table* CreateTable(const ibv_rwq_ind_table_init_attr& attr);
  int DestroyTable(ibv_rwq_ind_table* table);

  ibv_flow* CreateFlow(ibv_qp* qp, const ibv_flow_attr& attr);
  int DestroyFlow(ibv_flow* flow);
  // `gid` is zero but for a multicast MAC in its last six bytes.
  int AttachMulticast(ibv_qp* qp, const union ibv_gid& gid, uint16_t lid);
  int DetachMulticast(ibv_qp* qp, const union ibv_gid& gid, uint16_t lid);

  ibv_counters* CreateCounters(const ibv_counters_init_attr& attr);
  int DestroyCounters(ibv_counters* counters);

  // Whether it was closed, or its device removed: EIO is the answer to what
  // creates or modifies.
  bool gone() const noexcept { return closed_ || port_->removed(); }

  Device& device() noexcept { return device_; }
  Port& port() noexcept { return *port_; }

 private:
  Context(Device& device, std::shared_ptr<Port> port);
  ~Context();

  static Context* OpenOrThrow(Device& device);

  bool IsInherited() const noexcept { return process_ != getpid(); }
  void FillOperations();
  void FillFlowOperations();
  CompletionQueue* MakeCq(const CompletionQueue::Options& options,
                          uint32_t vector);
  ibv_qp* CreatePlainQp(const ibv_qp_init_attr& attr, QueuePair::Options& qp);
  ibv_qp* CreateRssQp(const ibv_qp_init_attr_ex& attr);
  ibv_qp* MakeQp(QueuePair::Options& options);
  ibv_flow* MakeFlow(ibv_qp* qp, const FlowRequest& request);

  // One more object of a kind of which there may be `limit`; false if there
  // may not.
  bool Count(std::atomic<uint32_t>& objects, uint32_t limit);
  void Uncount(std::atomic<uint32_t>& objects);
  // Deletes the context when it is closed and its last object is gone.
  void Unref();

  Device& device_;
  // Kept for leaked objects after the device has closed it.
  std::shared_ptr<Port> port_;
  AsyncEvents events_;
  MrTable regions_;
  const pid_t process_ = getpid();
  std::atomic<bool> closed_ = false;
  // The open context itself and its objects.
  std::atomic<size_t> references_ = 1;
  std::atomic<uint32_t> pds_ = 0;
  std::atomic<uint32_t> cqs_ = 0;
  std::atomic<uint32_t> qps_ = 0;
  std::atomic<uint32_t> counters_ = 0;
  std::atomic<uint32_t> wqs_ = 0;
  std::atomic<uint32_t> tables_ = 0;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_CONTEXT_H_
