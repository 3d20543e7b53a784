// What a router tells the sender of a packet that it may not cut:
// "fragmentation needed" (RFC 1191 §4) and "packet too big" (RFC 4443 §3.2),
// which path MTU discovery lives on.

#ifndef WEIR_STAGE_TOO_BIG_H_
#define WEIR_STAGE_TOO_BIG_H_

#include <cstdint>
#include <optional>

#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/net/mac_address.h"

namespace weir {

// What a router answers as. In place of what is not set stands the destination
// of the packet that is answered; one sent to a group then gets no answer.
struct RouterAddresses {
  std::optional<net::MacAddress> mac;
  std::optional<net::Ipv4Address> ipv4;
  std::optional<net::Ipv6Address> ipv6;
};

// Whether the sender of `packet`, which was parsed, may be told: never about
// ICMP errors, nor to an address that is not one host's, nor, of IPv4, about
// packets to groups and fragments behind the first (RFC 1812 §4.3.2.7, RFC 4443
// §2.4 (e), which lets IPv6 answer about packets to groups). Any thread.
bool MayAnswerTooBig(const Mbuf& packet,
                     const RouterAddresses& router) noexcept;

// The answer about `packet`, of which MayAnswerTooBig is true: a frame for the
// port that it came by, with its VLAN tags and as much of it as the RFCs ask
// for. Null if `cache` has no mbuf. Owner lcore only.
Mbuf* MakeTooBig(const Mbuf& packet, uint32_t mtu_bytes,
                 const RouterAddresses& router, MbufCache& cache) noexcept;

}  // namespace weir

#endif  // WEIR_STAGE_TOO_BIG_H_
