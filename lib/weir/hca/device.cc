#include "weir/hca/device.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"
#include "weir/hca/backend/open_backend.h"
#include "weir/hca/device_key.h"

namespace weir::hca {
namespace {

void PutText(std::span<char> to, absl::string_view text) {
  const size_t size = std::min(text.size(), to.size() - 1);
  std::memcpy(to.data(), text.data(), size);
  to[size] = '\0';
}

// FNV-1a: the same for the same text in every process.
uint32_t HashOf(absl::string_view text) {
  uint32_t hash = 2166136261u;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  }
  return hash;
}

std::array<uint8_t, 4> BytesOf(uint32_t value) {
  return {static_cast<uint8_t>(value >> 24), static_cast<uint8_t>(value >> 16),
          static_cast<uint8_t>(value >> 8), static_cast<uint8_t>(value)};
}

// "weir" and a hash. Vendors' GUIDs begin with their OUI, and 77-65-69 is
// locally administered (IEEE 802-2014 §8.4), so no vendor has it.
__be64 MakeGuid(uint32_t hash) {
  const auto tail = BytesOf(hash);
  return std::bit_cast<__be64>(std::array<uint8_t, 8>{
      'w', 'e', 'i', 'r', tail[0], tail[1], tail[2], tail[3]});
}

net::MacAddress MakeMac(uint32_t hash) {
  const auto tail = BytesOf(hash);
  return {{0x02, 'w', tail[0], tail[1], tail[2], tail[3]}};
}

}  // namespace

Device::Device(absl::string_view key, absl::string_view device_name,
               size_t index, Origin origin)
    : key_(key), origin_(origin) {
  const uint32_t hash = HashOf(absl::StrCat(index, "/", device_name, "/", key));
  guid_ = MakeGuid(hash);
  mac_ = MakeMac(hash);
  node_type = IBV_NODE_CA;
  transport_type = IBV_TRANSPORT_IB;
  PutText(name, device_name);
  PutText(dev_name, absl::StrCat("uverbs-", device_name));
}

absl::StatusOr<std::shared_ptr<Port>> Device::OpenPort() {
  const std::lock_guard hold(lock_);
  if (process_ != getpid()) {
    // A forked child has no part in what its parent opened.
    process_ = getpid();
    port_.reset();
    users_ = 0;
  }
  if (users_ == 0) {
    const absl::Status opened = OpenMedium();
    open_error_ = std::string(opened.message());
    if (!opened.ok()) return opened;
  }
  if (port_->removed()) {
    open_error_ =
        absl::StrCat(key_,
                     ": the device was removed; it comes back when all of its "
                     "contexts are closed");
    return absl::InternalError(open_error_);
  }
  ++users_;
  return port_;
}

absl::Status Device::OpenMedium() {
  const auto key = ParseDeviceKey(key_);
  if (!key.ok()) return key.status();
  const auto verifies = SwitchOption(*key, "rx_checksum", true);
  if (!verifies.ok()) return verifies.status();
  const auto rss = SwitchOption(*key, "rss", true);
  if (!rss.ok()) return rss.status();
  const auto faults = ParseFaults(*key);
  if (!faults.ok()) return faults.status();
  auto backend = OpenBackend(*key);
  if (!backend.ok()) return backend.status();
  auto port = std::make_shared<Port>(
      *std::move(backend), mac_,
      *verifies ? Port::RxChecksum::kOn : Port::RxChecksum::kOff);
  port->Schedule(key->text, *faults);
  has_rss_ = *rss;
  port_ = std::move(port);
  return absl::OkStatus();
}

void Device::ClosePort() {
  const std::lock_guard hold(lock_);
  if (--users_ > 0) return;
  port_->Close();
  port_.reset();
}

void Device::ExplainFailure(int error, absl::string_view call) {
  const absl::Status status =
      ErrnoStatus(error, {.object = key_, .call = call});
  const std::lock_guard hold(lock_);
  open_error_ = std::string(status.message());
}

std::string Device::open_error() {
  const std::lock_guard hold(lock_);
  return open_error_;
}

}  // namespace weir::hca
