// MAC addresses for devices that have no netdev: the same name gives the same
// address in every process, so that tests and captures are repeatable.

#ifndef WEIR_HCA_BACKEND_DERIVED_MAC_H_
#define WEIR_HCA_BACKEND_DERIVED_MAC_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "weir/net/mac_address.h"

namespace weir::hca {

// A unicast, locally administered address (IEEE 802-2014 §8.4) whose other
// octets are a hash of `name`: FNV-1a of 64 bits. Any thread.
constexpr net::MacAddress DerivedMac(absl::string_view name) noexcept {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char character : name) {
    hash = (hash ^ static_cast<uint8_t>(character)) * 0x100000001b3;
  }
  net::MacAddress mac{{0x02, 0, 0, 0, 0, 0}};
  for (unsigned i = 1; i < mac.octets.size(); ++i) {
    mac.octets[i] = static_cast<uint8_t>(hash >> 8 * i);
  }
  return mac;
}

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_DERIVED_MAC_H_
