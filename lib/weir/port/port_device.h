// The device behind a port name, open but without queues: enough to know its
// MTU and NUMA node, which an app needs to size and place the mbuf pool before
// it opens the port.

#ifndef WEIR_PORT_PORT_DEVICE_H_
#define WEIR_PORT_PORT_DEVICE_H_

#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/port/port_info.h"
#include "weir/verbs/device.h"

namespace weir {

// Movable. Control thread, before Launch.
class PortDevice {
 public:
  // For kPlan, captures to write are neither created nor emptied: nothing may
  // be sent.
  enum class Purpose { kRun, kPlan };

  // Opens what `name` stands for: a soft device (`kind:argument[,key=value]`),
  // a verbs device (`mlx5_0`, or `mlx5_0:2` for its second port), or a netdev
  // (its RDMA device if that can do raw packets, else `xdp:NAME` if that
  // opens, else `packet:NAME`).
  // InvalidArgument for an unknown kind or key, NotFound, listing what there
  // is, for a name that is none of these; otherwise what opening the device
  // returned.
  static absl::StatusOr<PortDevice> Open(absl::string_view name,
                                         Purpose purpose = Purpose::kRun);

  const PortInfo& info() const noexcept { return info_; }

  // What no two ports of an app may share (a netdev, a port of a NIC, a file
  // to write); empty if there is no such thing.
  const std::string& identity() const noexcept { return identity_; }

  const std::shared_ptr<verbs::Device>& device() const noexcept {
    return device_;
  }

 private:
  PortDevice(PortInfo info, std::string identity,
             std::shared_ptr<verbs::Device> device)
      : info_(std::move(info)),
        identity_(std::move(identity)),
        device_(std::move(device)) {}

  PortInfo info_;
  std::string identity_;
  std::shared_ptr<verbs::Device> device_;
};

// InvalidArgument, naming both, if two of `names` stand for the same netdev or
// write the same file, as far as that can be told without opening them: for a
// device that a second open would refuse with less to say. Control thread,
// before Launch.
absl::Status CheckDistinctNames(std::span<const std::string> names);

// InvalidArgument, naming both, if two of `devices` have the same identity.
// Control thread, before Launch.
absl::Status CheckDistinct(std::span<const PortDevice> devices);

}  // namespace weir

#endif  // WEIR_PORT_PORT_DEVICE_H_
