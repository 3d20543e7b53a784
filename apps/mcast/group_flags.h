// Flags that all commands of mcast have.

#ifndef APPS_MCAST_GROUP_FLAGS_H_
#define APPS_MCAST_GROUP_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/flags/declare.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/net/ip_text.h"

ABSL_DECLARE_FLAG(std::string, group);
ABSL_DECLARE_FLAG(uint32_t, udp_port);
ABSL_DECLARE_FLAG(std::string, ip);
ABSL_DECLARE_FLAG(uint32_t, vlan);
ABSL_DECLARE_FLAG(uint64_t, count);

namespace weir::mcast {

// The group that `text`, a part of --group, is. InvalidArgument if it is none,
// or is on no link.
absl::StatusOr<net::IpAddress> ReadGroup(absl::string_view text);

// The value of a flag that is a UDP port: 1 to 65535. InvalidArgument,
// beginning with `flag`, otherwise.
absl::StatusOr<uint16_t> ReadUdpPort(absl::string_view flag, uint32_t value);

// --vlan; nothing if it is 0. InvalidArgument above 4094.
absl::StatusOr<std::optional<uint16_t>> ReadVlan();

}  // namespace weir::mcast

#endif  // APPS_MCAST_GROUP_FLAGS_H_
