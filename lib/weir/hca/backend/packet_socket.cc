#include "weir/hca/backend/packet_socket.h"

#include <linux/if_packet.h>

#include <bit>

#include "weir/base/big_endian.h"

namespace weir::hca {

absl::StatusOr<UniqueFd> OpenPacketSocket(absl::string_view object,
                                          absl::string_view rights) {
  // Protocol 0: nothing arrives before the socket is set up and bound.
  UniqueFd fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (fd.is_open()) return fd;
  return ErrnoStatus(errno, {.object = object,
                             .call = "socket(AF_PACKET)",
                             .remedy = errno == EPERM ? rights : ""});
}

absl::Status BindPacketSocket(int fd, int index, uint16_t ether_type,
                              absl::string_view object) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = std::bit_cast<uint16_t>(Be16(ether_type));
  address.sll_ifindex = index;
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
      0) {
    return ErrnoStatus(errno, {.object = object, .call = "bind"});
  }
  return absl::OkStatus();
}

absl::Status JoinPromiscuous(int fd, int index, absl::string_view object) {
  packet_mreq membership{};
  membership.mr_ifindex = index;
  membership.mr_type = PACKET_MR_PROMISC;
  return SetPacketOption(
      fd, PACKET_ADD_MEMBERSHIP, membership,
      {.object = object, .call = "setsockopt(PACKET_ADD_MEMBERSHIP)"});
}

void GrowSocketBuffer(int fd, int force_option, int option,
                      int bytes) noexcept {
  if (setsockopt(fd, SOL_SOCKET, force_option, &bytes, sizeof bytes) == 0) {
    return;
  }
  // Capped by the system without an error.
  setsockopt(fd, SOL_SOCKET, option, &bytes, sizeof bytes);
}

}  // namespace weir::hca
