// Packet sockets (packet(7)) as the two directions of the packet backend need
// them: opened, bound, and with errors that say what to do.

#ifndef WEIR_HCA_BACKEND_PACKET_SOCKET_H_
#define WEIR_HCA_BACKEND_PACKET_SOCKET_H_

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/base/errno_status.h"
#include "weir/base/unique_fd.h"

namespace weir::hca {

// What remedies the want of the only right that packet devices need.
inline constexpr absl::string_view kPacketRights =
    "needs CAP_NET_RAW: run as root, or `setcap cap_net_raw+ep PROGRAM`";

// A raw packet socket that receives nothing yet; messages begin with `object`.
// PermissionDenied, with the remedy `rights`, without CAP_NET_RAW. Any thread.
absl::StatusOr<UniqueFd> OpenPacketSocket(
    absl::string_view object, absl::string_view rights = kPacketRights);

// Binds `fd` to the netdev with `index`, to receive frames of `ether_type`: 0
// for none, ETH_P_ALL for all. Errors as the system says. Any thread.
absl::Status BindPacketSocket(int fd, int index, uint16_t ether_type,
                              absl::string_view object);

// Makes the netdev with `index` promiscuous until `fd` is closed. Errors as the
// system says. Any thread.
absl::Status JoinPromiscuous(int fd, int index, absl::string_view object);

// Asks for `bytes` of socket buffer by `force_option`, or, where that is not
// permitted, for as much as the system allows by `option`. Any thread.
void GrowSocketBuffer(int fd, int force_option, int option, int bytes) noexcept;

// setsockopt at level SOL_PACKET; `call` names it in the message. Errors as the
// system says. Any thread.
template <typename Value>
absl::Status SetPacketOption(int fd, int option, const Value& value,
                             const FailedCall& failed) {
  if (setsockopt(fd, SOL_PACKET, option, &value, sizeof value) == 0) {
    return absl::OkStatus();
  }
  return ErrnoStatus(errno, failed);
}

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_PACKET_SOCKET_H_
