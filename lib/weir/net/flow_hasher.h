// Which bytes of a packet say what flow it belongs to, and their hash.

#ifndef WEIR_NET_FLOW_HASHER_H_
#define WEIR_NET_FLOW_HASHER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/net/toeplitz.h"

namespace weir::net {

struct FlowHashOptions {
  ToeplitzKey key = kPublishedToeplitzKey;
  // Whether packets of these are told apart by ports too.
  bool tcp_ports = true;
  bool udp_ports = true;
  bool sctp_ports = false;
};

// What parsing found out about a packet of IP; offsets from the first of the
// bytes that go with it.
struct FlowPlaces {
  bool is_ipv6;
  // Any fragment, the first one too.
  bool is_fragment;
  uint8_t protocol;
  size_t l3_offset;
  size_t l4_offset;
};

// The Toeplitz hash of source and destination address and, of TCP and UDP,
// ports, as NICs compute it (Microsoft, "RSS Hashing Functions": IPv4, IPv6 and
// TCP and UDP over either). Of a fragment it is that of the addresses alone,
// also of the first one, which has ports: all parts of a datagram have one
// hash. Immutable: any thread.
class FlowHasher {
 public:
  explicit FlowHasher(const FlowHashOptions& options = {}) noexcept;

  // `bytes` has all of the fixed IP header; without the ports in `bytes` the
  // hash is that of the addresses.
  uint32_t Hash(std::span<const std::byte> bytes,
                const FlowPlaces& places) const noexcept;

 private:
  bool HasPorts(const FlowPlaces& places) const noexcept;

  Toeplitz toeplitz_;
  bool tcp_ports_;
  bool udp_ports_;
  bool sctp_ports_;
};

}  // namespace weir::net

#endif  // WEIR_NET_FLOW_HASHER_H_
