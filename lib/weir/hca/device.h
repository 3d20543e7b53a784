// A soft device: listed for the life of the process, opened any number of
// times. All contexts of a device share its port, as those of a NIC do.

#ifndef WEIR_HCA_DEVICE_H_
#define WEIR_HCA_DEVICE_H_

#include <infiniband/verbs.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/hca/port.h"
#include "weir/hca/public_object.h"
#include "weir/net/mac_address.h"

namespace weir::hca {

class Device : public PublicObject<ibv_device> {
 public:
  // Who named the device, and therefore who hears why it cannot be opened.
  enum class Origin : uint8_t { kProgram, kEnvironment };

  // `index` is unique in the process; `device_name` has at most 63 bytes.
  Device(absl::string_view key, absl::string_view device_name, size_t index,
         Origin origin);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() = default;

  // The port, opened if this is its first user. Errors: those of ParseDeviceKey
  // and OpenBackend; open_error() keeps the message. Any thread.
  absl::StatusOr<std::shared_ptr<Port>> OpenPort();
  // Takes back one OpenPort; the last one gives the medium back. Any thread.
  void ClosePort();

  // Says in open_error that `call` failed with `error` after OpenPort. Any
  // thread.
  void ExplainFailure(int error, absl::string_view call);

  // Holds off what opens and closes, while the process forks.
  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

  // Why the last OpenPort failed, empty if it did not. Any thread.
  std::string open_error();

  Origin origin() const noexcept { return origin_; }
  // No real device has this one: it is not made from a MAC address.
  __be64 guid() const noexcept { return guid_; }
  // Whether there are work queues and what spreads frames over them. While the
  // port is open: any thread.
  bool has_rss() const noexcept { return has_rss_; }
  uint32_t NextQpNumber() noexcept { return next_qp_number_++; }

 private:
  absl::Status OpenMedium();

  std::string key_;
  Origin origin_;
  __be64 guid_;
  net::MacAddress mac_;
  std::atomic<uint32_t> next_qp_number_ = 1;
  std::mutex lock_;
  // That which has the port open.
  pid_t process_ = 0;
  size_t users_ = 0;
  bool has_rss_ = true;
  std::string open_error_;
  std::shared_ptr<Port> port_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_DEVICE_H_
