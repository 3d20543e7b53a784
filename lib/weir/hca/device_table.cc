#include "weir/hca/device_table.h"

#include <cstdlib>
#include <new>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "weir/hca/backend/open_backend.h"
#include "weir/hca/device_key.h"
#include "weir/hca/environment.h"

namespace weir::hca {

DeviceTable& DeviceTable::Get() noexcept {
  static constinit DeviceTable table;
  return table;
}

absl::StatusOr<Device*> DeviceTable::AddFromProgram(absl::string_view key) {
  const auto parsed = ParseDeviceKey(key);
  if (!parsed.ok()) return parsed.status();
  if (absl::Status known = CheckBackendKey(*parsed); !known.ok()) return known;
  const std::lock_guard hold(lock_);
  Device* device =
      Add(key, absl::StrCat("weir", count_.load()), Device::Origin::kProgram);
  if (device == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(
        key, ": there are ", kMaxDevices, " soft devices already"));
  }
  return device;
}

std::vector<Device*> DeviceTable::List() {
  const std::lock_guard hold(lock_);
  if (!environment_read_) AddFromEnvironment();
  environment_read_ = true;
  std::vector<Device*> devices;
  for (size_t i = 0; i < count_; ++i) {
    devices.push_back(std::launder(
        reinterpret_cast<Device*>(storage_.data() + i * sizeof(Device))));
  }
  return devices;
}

Device* DeviceTable::Add(absl::string_view key, absl::string_view name,
                         Device::Origin origin) {
  const size_t index = count_;
  if (index == kMaxDevices) return nullptr;
  auto* device = new (storage_.data() + index * sizeof(Device))
      Device(key, name, index, origin);
  ++count_;
  return device;
}

void DeviceTable::AddFromEnvironment() {
  const char* text = std::getenv("WEIR_HCA_DEVICES");
  std::vector<NamedKey> named;
  if (text != nullptr) {
    named = SplitDeviceList(text);
  } else if (count_ == 0) {
    named = DefaultDevices();
  }
  for (const NamedKey& each : named) {
    const std::string name =
        each.name.empty() ? absl::StrCat("weir", count_.load()) : each.name;
    Add(each.key, name, Device::Origin::kEnvironment);
  }
}

}  // namespace weir::hca
