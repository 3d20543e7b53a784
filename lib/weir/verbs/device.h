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

// What a device says of RSS queue pairs for raw packets; all 0 if it has none.
struct RssLimits {
  uint32_t work_queues = 0;
  // Of an indirection table.
  uint32_t table_entries = 0;
  // Of ibv_rx_hash_fields, those it can hash over.
  uint64_t hash_fields = 0;

  // Whether frames can be spread at all, over addresses at least.
  bool can_spread() const noexcept {
    constexpr uint64_t kAddresses = IBV_RX_HASH_SRC_IPV4 |
                                    IBV_RX_HASH_DST_IPV4 |
                                    IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6;
    return work_queues > 1 && table_entries > 1 &&
           (hash_fields & kAddresses) == kAddresses;
  }
};

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

  // By Toeplitz hash, as ibv_query_device_ex gave them when the device was
  // opened.
  const RssLimits& rss() const noexcept { return rss_; }

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
  RssLimits rss_;
};

}  // namespace weir::verbs

#endif  // WEIR_VERBS_DEVICE_H_
