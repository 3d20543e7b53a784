// The older way to receive the frames of a group, for devices that take no flow
// rules.

#ifndef WEIR_VERBS_MULTICAST_H_
#define WEIR_VERBS_MULTICAST_H_

#include <infiniband/verbs.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "weir/net/mac_address.h"

namespace weir::verbs {

// Has frames to a group come to a queue pair while it lives. Movable. Control
// thread.
class MulticastAttachment {
 public:
  // Frames to `group` to `queue_pair`, which must outlive it, of the device
  // `device_name`. The errno of ibv_attach_mcast.
  static absl::StatusOr<MulticastAttachment> Create(
      ibv_qp* queue_pair, const std::string& device_name,
      const net::MacAddress& group);

 private:
  struct Detach {
    ibv_gid gid;
    void operator()(ibv_qp* queue_pair) const noexcept {
      ibv_detach_mcast(queue_pair, &gid, 0);
    }
  };

  MulticastAttachment(ibv_qp* queue_pair, const ibv_gid& gid)
      : attached_(queue_pair, Detach{gid}) {}

  // Not owned but for its attachment.
  std::unique_ptr<ibv_qp, Detach> attached_;
};

}  // namespace weir::verbs

#endif  // WEIR_VERBS_MULTICAST_H_
