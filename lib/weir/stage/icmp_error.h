// ICMP and ICMPv6 errors about packets that came: who may be told (RFC 1122
// §3.2.2, RFC 1812 §4.3.2.7, RFC 4443 §2.4 (e)), and the frame that tells it.

#ifndef WEIR_STAGE_ICMP_ERROR_H_
#define WEIR_STAGE_ICMP_ERROR_H_

#include <cstdint>
#include <optional>

#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/net/icmp.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/net/mac_address.h"

namespace weir {

// What a router answers as. In place of what is not set stands the destination
// of the packet that is answered, which is what a host answers as.
struct RouterAddresses {
  std::optional<net::MacAddress> mac;
  std::optional<net::Ipv4Address> ipv4;
  std::optional<net::Ipv6Address> ipv6;
};

// Why nobody is told about a packet.
enum class AnswerBar : uint8_t {
  // The sender may be told.
  kNone,
  // Its headers are not at hand.
  kNotParsed,
  // It is an ICMP error, or may be one: of fragments behind the first one only
  // the protocol is known.
  kIcmpError,
  // It comes from an address, of IP or of layer 2, that is not one host's.
  kSource,
  // A fragment of IPv4 behind the first one.
  kLaterFragment,
  // It was sent to more than one host, by IP or by layer 2.
  kGroup,
};

// The first that holds for `packet`, which was parsed. Any thread.
AnswerBar BarTo(const Mbuf& packet) noexcept;

// Of a packet whose headers are at hand, whether it was sent to a group, or to
// all, by layer 2 and by IP. Any thread.
bool IsToLinkGroup(const Mbuf& packet) noexcept;
bool IsToIpGroup(const Mbuf& packet) noexcept;

// Whether the IP destination of such a packet is one host's address, which
// others know it by: not loopback, nor unspecified. Any thread.
bool IsToHost(const Mbuf& packet) noexcept;

// The error with type, code and rest of `icmp` about `packet`, whose headers
// are at hand: a frame for the port that it came by (PacketInfo::kAnswer), with
// its VLAN tags and as much of it as the RFCs ask for. Null if `cache` has no
// mbuf. Owner lcore only.
Mbuf* MakeIcmpError(const Mbuf& packet, const net::IcmpHeader& icmp,
                    const RouterAddresses& router, MbufCache& cache) noexcept;

}  // namespace weir

#endif  // WEIR_STAGE_ICMP_ERROR_H_
