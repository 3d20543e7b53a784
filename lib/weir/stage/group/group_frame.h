// The frames that messages about groups travel in: to the MAC of a group, one
// hop far, with Router Alert so that routers look at them (RFC 2113, RFC 2711).

#ifndef WEIR_STAGE_GROUP_GROUP_FRAME_H_
#define WEIR_STAGE_GROUP_GROUP_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weir/membership/igmp.h"
#include "weir/membership/mld.h"
#include "weir/net/mac_address.h"

namespace weir {

// Who sends them. An address of zeros if there is none yet: routers take that
// too (RFC 3376 §4.2.13, RFC 3590); of IPv6 it is the address of the link.
template <typename Address>
struct GroupSender {
  net::MacAddress mac{};
  Address address{};
  // The VLAN to be on, 1 to 4094; none: frames without a tag.
  std::optional<uint16_t> vlan = {};
};

// Bytes in front of a message in its frame, and in front of it in its packet.
// Any thread.
template <typename Protocol>
size_t GroupFrameHeaderBytes(
    const GroupSender<typename Protocol::Address>& sender) noexcept;
template <typename Protocol>
size_t GroupPacketHeaderBytes() noexcept;

// Makes `frame`, in which a message of `message_bytes` lies behind the bytes
// above, whole: headers and checksums, to `destination`. Any thread.
template <typename Protocol>
void FinishGroupFrame(std::span<std::byte> frame,
                      const GroupSender<typename Protocol::Address>& sender,
                      const typename Protocol::Address& destination) noexcept;

// Whether a packet of MLD, whose headers are in `frame` from `l3_offset` to
// `l4_offset`, was sent on this link by a neighbour who says so: from an
// address of the link, one hop far, with Router Alert (RFC 3810 §6.2). Any
// thread.
bool IsMldOfLink(std::span<const std::byte> frame, size_t l3_offset,
                 size_t l4_offset) noexcept;

// Whether a frame whose packet begins at `l3_offset` is on the VLAN, or, if
// there is none, without a tag. Any thread.
bool IsOnVlan(std::span<const std::byte> frame, size_t l3_offset,
              std::optional<uint16_t> vlan) noexcept;

extern template size_t GroupFrameHeaderBytes<Igmp>(
    const GroupSender<net::Ipv4Address>&) noexcept;
extern template size_t GroupFrameHeaderBytes<Mld>(
    const GroupSender<net::Ipv6Address>&) noexcept;
extern template void FinishGroupFrame<Igmp>(
    std::span<std::byte>, const GroupSender<net::Ipv4Address>&,
    const net::Ipv4Address&) noexcept;
extern template void FinishGroupFrame<Mld>(std::span<std::byte>,
                                           const GroupSender<net::Ipv6Address>&,
                                           const net::Ipv6Address&) noexcept;

}  // namespace weir

#endif  // WEIR_STAGE_GROUP_GROUP_FRAME_H_
