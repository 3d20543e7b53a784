// An open verbs device, and the list of those that can be opened.

#ifndef WEIR_VERBS_DEVICE_H_
#define WEIR_VERBS_DEVICE_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weir::verbs {

// Names of all verbs devices, soft ones included; none if there are none (a
// machine without RDMA is no error). Any thread.
std::vector<std::string> DeviceNames();

// Owns the ibv_context. Movable. Set-up: control thread, before Launch.
class Device {
 public:
  // Opens the device called `name`. NotFound, listing the devices, if there is
  // none; otherwise the errno of ibv_open_device, and for a soft device what
  // it says about it.
  static absl::StatusOr<Device> Open(absl::string_view name);

  const std::string& name() const noexcept { return name_; }
  ibv_context* context() const noexcept { return context_.get(); }
  // Limits, as ibv_query_device gave them when the device was opened.
  const ibv_device_attr& attributes() const noexcept { return attributes_; }

  // The state of port `number`, from 1. InvalidArgument if there is no such
  // port, or if it is not an Ethernet port.
  absl::StatusOr<ibv_port_attr> QueryPort(uint8_t number) const;

 private:
  struct Close {
    void operator()(ibv_context* context) const noexcept {
      ibv_close_device(context);
    }
  };

  Device(std::string name, ibv_context* context)
      : name_(std::move(name)), context_(context) {}

  std::string name_;
  std::unique_ptr<ibv_context, Close> context_;
  ibv_device_attr attributes_{};
};

}  // namespace weir::verbs

#endif  // WEIR_VERBS_DEVICE_H_
