// The soft devices of the process. The verbs API is one per process, so this
// has to be; everything else hangs from objects that the program holds.

#ifndef WEIR_HCA_DEVICE_TABLE_H_
#define WEIR_HCA_DEVICE_TABLE_H_

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/hca/device.h"
#include "weir/hca/environment.h"

namespace weir::hca {

// At stable addresses, never freed: programs use device pointers after they
// freed the list. A process that forks does so while no thread is at the table
// or opens or closes a device, for the child could never go on with that.
class DeviceTable {
 public:
  // The one of the process.
  static DeviceTable& Get() noexcept;

  constexpr DeviceTable() = default;
  DeviceTable(const DeviceTable&) = delete;
  DeviceTable& operator=(const DeviceTable&) = delete;
  ~DeviceTable() = default;

  // Adds the device of `key`, which the program named. InvalidArgument for a
  // malformed key, an unknown kind or option; ResourceExhausted when the table
  // is full. Any thread.
  absl::StatusOr<Device*> AddFromProgram(absl::string_view key);

  struct Listing {
    std::vector<Device*> devices;
    // What is wrong with the environment, a line each: of the first call alone.
    std::vector<std::string> warnings;
  };
  // All devices. The first call adds those of WEIR_HCA_DEVICES, or, where the
  // program named none either, a null device and one for each Ethernet netdev
  // that is up. Any thread.
  Listing List();

  // `device` if it is a soft one, else null. No lock: it runs before every call
  // that goes on to a real device. Any thread.
  Device* Find(const ibv_device* device) noexcept {
    const auto* at = reinterpret_cast<const std::byte*>(device);
    const bool inside =
        at >= storage_.data() && at < storage_.data() + count_ * sizeof(Device);
    // The program's view is const, the object is ours.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
    auto* const own = const_cast<ibv_device*>(device);
    return inside ? static_cast<Device*>(own) : nullptr;
  }

 private:
  static constexpr size_t kMaxDevices = 128;

  static void GuardForks();
  void LockAll();
  void UnlockAll();
  Device* Add(absl::string_view key, absl::string_view name,
              Device::Origin origin);
  std::vector<std::string> AddFromEnvironment();
  Device* At(size_t index) noexcept;
  bool IsTaken(absl::string_view name);
  // "weir" and a number: no device has it, nor does one of `reserved`.
  std::string FreeName(std::span<const NamedKey> reserved);

  alignas(
      Device) std::array<std::byte, kMaxDevices * sizeof(Device)> storage_{};
  std::atomic<size_t> count_{0};
  std::mutex lock_;
  bool environment_read_ = false;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_DEVICE_TABLE_H_
