// A raw Ethernet queue pair: whole frames in, whole frames out.

#ifndef WEIR_VERBS_QUEUE_PAIR_H_
#define WEIR_VERBS_QUEUE_PAIR_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/verbs/completion_queue.h"
#include "weir/verbs/protection_domain.h"

namespace weir::verbs {

// What a queue pair is asked for. A depth of 0 leaves that direction out.
struct QueuePairOptions {
  uint32_t send_depth = 0;
  uint32_t receive_depth = 0;
  uint32_t send_segments = 1;
  uint32_t receive_segments = 1;
  uint32_t inline_bytes = 0;
};

// Owns the ibv_qp, of type IBV_QPT_RAW_PACKET. Movable.
class QueuePair {
 public:
  // In state RESET. Where the device refuses the size (EINVAL, ENOMEM), tries
  // again with less inline data, then with half the depths; obtained() tells.
  // `domain` and the completion queues must outlive it. PermissionDenied
  // without CAP_NET_RAW, Unimplemented for a device without raw packets,
  // otherwise the errno of ibv_create_qp. Control thread, before Launch.
  static absl::StatusOr<QueuePair> Create(const ProtectionDomain& domain,
                                          const CompletionQueue& send_cq,
                                          const CompletionQueue& receive_cq,
                                          const QueuePairOptions& options);

  // What the device gave; at least what the last attempt asked for.
  const QueuePairOptions& obtained() const noexcept { return obtained_; }

  // Moves to `state`; `port`, from 1, counts for INIT only. Returns 0 or an
  // errno value. Owner lcore only.
  int Modify(ibv_qp_state state, uint8_t port) noexcept;

  // As Modify, in words. Control thread, before Launch.
  absl::Status ModifyOrStatus(ibv_qp_state state, uint8_t port);

  // Post the list that starts at `first`. Return 0, or an errno value with
  // `*bad` set to the first request that was not posted. Owner lcore only.
  int PostSend(ibv_send_wr& first, ibv_send_wr** bad) noexcept {
    return ibv_post_send(qp_.get(), &first, bad);
  }
  int PostReceive(ibv_recv_wr& first, ibv_recv_wr** bad) noexcept {
    return ibv_post_recv(qp_.get(), &first, bad);
  }

  ibv_qp* get() const noexcept { return qp_.get(); }
  // For messages.
  const std::string& device_name() const noexcept { return device_name_; }

 private:
  struct Destroy {
    void operator()(ibv_qp* qp) const noexcept { ibv_destroy_qp(qp); }
  };

  QueuePair(std::string device_name, ibv_qp* qp,
            const QueuePairOptions& obtained)
      : device_name_(std::move(device_name)), qp_(qp), obtained_(obtained) {}

  std::string device_name_;
  std::unique_ptr<ibv_qp, Destroy> qp_;
  QueuePairOptions obtained_;
};

}  // namespace weir::verbs

#endif  // WEIR_VERBS_QUEUE_PAIR_H_
