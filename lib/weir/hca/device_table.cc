#include "weir/hca/device_table.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "weir/hca/backend/open_backend.h"
#include "weir/hca/device_key.h"
#include "weir/hca/environment.h"
#include "weir/hca/rollback.h"

namespace weir::hca {

DeviceTable& DeviceTable::Get() noexcept {
  static constinit DeviceTable table;
  return table;
}

// Before the first lock is taken, and so before there is a device.
void DeviceTable::GuardForks() {
  static const int guarded =
      pthread_atfork([] { Get().LockAll(); }, [] { Get().UnlockAll(); },
                     [] { Get().UnlockAll(); });
  if (guarded != 0) throw std::bad_alloc();
}

void DeviceTable::LockAll() {
  lock_.lock();
  for (size_t i = 0; i < count_; ++i) At(i)->lock();
}

void DeviceTable::UnlockAll() {
  for (size_t i = 0; i < count_; ++i) At(i)->unlock();
  lock_.unlock();
}

absl::StatusOr<Device*> DeviceTable::AddFromProgram(absl::string_view key) {
  GuardForks();
  const auto parsed = ParseDeviceKey(key);
  if (!parsed.ok()) return parsed.status();
  if (absl::Status known = CheckBackendKey(*parsed); !known.ok()) return known;
  const std::lock_guard hold(lock_);
  Device* device = Add(key, FreeName({}), Device::Origin::kProgram);
  if (device == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(
        key, ": there are ", kMaxDevices, " soft devices already"));
  }
  return device;
}

DeviceTable::Listing DeviceTable::List() {
  GuardForks();
  const std::lock_guard hold(lock_);
  Listing listing;
  // All that may fail before what is said once.
  listing.devices.reserve(kMaxDevices);
  if (!environment_read_) listing.warnings = AddFromEnvironment();
  environment_read_ = true;
  for (size_t i = 0; i < count_; ++i) listing.devices.push_back(At(i));
  return listing;
}

Device* DeviceTable::At(size_t index) noexcept {
  return std::launder(
      reinterpret_cast<Device*>(storage_.data() + index * sizeof(Device)));
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

bool DeviceTable::IsTaken(absl::string_view name) {
  for (size_t i = 0; i < count_; ++i) {
    if (name == At(i)->name) return true;
  }
  return false;
}

std::string DeviceTable::FreeName(std::span<const NamedKey> reserved) {
  for (size_t number = count_;; ++number) {
    std::string name = absl::StrCat("weir", number);
    const bool is_reserved = std::ranges::any_of(
        reserved, [&name](const NamedKey& each) { return each.name == name; });
    if (!is_reserved && !IsTaken(name)) return name;
  }
}

std::vector<std::string> DeviceTable::AddFromEnvironment() {
  const char* text = std::getenv("WEIR_HCA_DEVICES");
  std::vector<NamedKey> named;
  if (text != nullptr) {
    named = SplitDeviceList(text);
  } else if (count_ == 0) {
    named = DefaultDevices();
  }
  const char* const faults = std::getenv("WEIR_HCA_FAULTS");
  std::vector<std::string> problems;
  if (faults != nullptr) problems = AddFaults(faults, named);
  const size_t before = count_;
  Rollback leave([this, before] {
    while (count_ > before) At(--count_)->~Device();
  });
  for (const NamedKey& each : named) {
    // A name that another device has would hide this one.
    const bool keeps_name = !each.name.empty() && !IsTaken(each.name);
    const Device* const added =
        Add(each.key, keeps_name ? each.name : FreeName(named),
            Device::Origin::kEnvironment);
    if (added == nullptr) {
      problems.push_back(absl::StrCat("WEIR_HCA_DEVICES: ", named.size(),
                                      " devices; only the first ", kMaxDevices,
                                      " are there, name fewer"));
      break;
    }
  }
  leave.Keep();
  return problems;
}

}  // namespace weir::hca
