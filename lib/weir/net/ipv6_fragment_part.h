// Where an IPv6 packet may be cut: behind the headers that every fragment has
// to carry (RFC 8200 §4.5, "Per-Fragment headers").

#ifndef WEIR_NET_IPV6_FRAGMENT_PART_H_
#define WEIR_NET_IPV6_FRAGMENT_PART_H_

#include <cstddef>
#include <optional>
#include <span>

namespace weir::net {

// In bytes from the start of the IPv6 header.
struct Ipv6FragmentPart {
  // Where a Fragment header stands, or has to be put in.
  size_t offset;
  // The byte that says which header stands there.
  size_t next_header_offset;
  bool has_fragment_header;
  // The end of the header chain: of the transport header, if all of it is in
  // what was looked at (RFC 7112 §3). Of a fragment behind the first one the
  // end of its Fragment header.
  size_t chain_end;
};

// Of the packet that begins with `head`. The fragmentable part begins behind
// the last Routing header; without one, behind hop-by-hop options; and behind
// Fragment headers that say that what follows is whole (RFC 6946), if another
// one follows: the last is the one, as for Parse. Nothing if a header in front
// of that, or of a Fragment header, is not all in `head`, or for a Fragment
// header in the data of a fragment. Any thread.
std::optional<Ipv6FragmentPart> FindIpv6FragmentPart(
    std::span<const std::byte> head) noexcept;

}  // namespace weir::net

#endif  // WEIR_NET_IPV6_FRAGMENT_PART_H_
