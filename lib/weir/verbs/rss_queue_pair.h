// A queue pair that receives into work queues: the hash of a frame says into
// which.

#ifndef WEIR_VERBS_RSS_QUEUE_PAIR_H_
#define WEIR_VERBS_RSS_QUEUE_PAIR_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/net/toeplitz.h"
#include "weir/verbs/indirection_table.h"
#include "weir/verbs/protection_domain.h"

namespace weir::verbs {

// Owns the ibv_qp, of type IBV_QPT_RAW_PACKET. Movable. Control thread, before
// Launch.
class RssQueuePair {
 public:
  // Hashes with `key` over `fields` of ibv_rx_hash_fields: addresses of one IP
  // version, and ports of one transport if any; 0 for a table of one entry,
  // which takes all. `domain` and `table` must outlive it. PermissionDenied
  // without CAP_NET_RAW, Unimplemented for a device that cannot, otherwise the
  // errno of ibv_create_qp_ex.
  static absl::StatusOr<RssQueuePair> Create(const ProtectionDomain& domain,
                                             const IndirectionTable& table,
                                             const net::ToeplitzKey& key,
                                             uint64_t fields);

  // Makes it receive at `port`, from 1: some devices want INIT and RTR of it,
  // some say ENOSYS and do without.
  absl::Status Start(uint8_t port);

  ibv_qp* get() const noexcept { return qp_.get(); }
  // For messages.
  const std::string& device_name() const noexcept { return device_name_; }

 private:
  struct Destroy {
    void operator()(ibv_qp* qp) const noexcept { ibv_destroy_qp(qp); }
  };

  RssQueuePair(std::string device_name, ibv_qp* qp)
      : device_name_(std::move(device_name)), qp_(qp) {}

  std::string device_name_;
  std::unique_ptr<ibv_qp, Destroy> qp_;
};

}  // namespace weir::verbs

#endif  // WEIR_VERBS_RSS_QUEUE_PAIR_H_
