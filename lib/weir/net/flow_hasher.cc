#include "weir/net/flow_hasher.h"

#include <array>
#include <cassert>
#include <cstring>

#include "weir/net/ip_protocol.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"

namespace weir::net {
namespace {

constexpr size_t kPortsBytes = 4;

}  // namespace

FlowHasher::FlowHasher(const FlowHashOptions& options) noexcept
    : toeplitz_(options.key),
      tcp_ports_(options.tcp_ports),
      udp_ports_(options.udp_ports),
      sctp_ports_(options.sctp_ports) {}

bool FlowHasher::HasPorts(const FlowPlaces& places) const noexcept {
  return !places.is_fragment &&
         ((tcp_ports_ && places.protocol == kProtocolTcp) ||
          (udp_ports_ && places.protocol == kProtocolUdp) ||
          (sctp_ports_ && places.protocol == kProtocolSctp));
}

uint32_t FlowHasher::Hash(std::span<const std::byte> bytes,
                          const FlowPlaces& places) const noexcept {
  const size_t at =
      places.l3_offset + (places.is_ipv6 ? offsetof(Ipv6Header, source)
                                         : offsetof(Ipv4Header, source));
  const size_t addresses =
      2 * (places.is_ipv6 ? sizeof(Ipv6Address) : sizeof(Ipv4Address));
  assert(at + addresses <= bytes.size());
  if (!HasPorts(places) || places.l4_offset + kPortsBytes > bytes.size()) {
    return toeplitz_.Hash(bytes.subspan(at, addresses));
  }
  // Nearly always the ports follow the addresses as they are to be hashed.
  if (places.l4_offset == at + addresses) [[likely]] {
    return toeplitz_.Hash(bytes.subspan(at, addresses + kPortsBytes));
  }
  std::array<std::byte, kMaxToeplitzInputBytes> input;
  std::memcpy(input.data(), bytes.data() + at, addresses);
  std::memcpy(input.data() + addresses, bytes.data() + places.l4_offset,
              kPortsBytes);
  return toeplitz_.Hash(std::span(input).first(addresses + kPortsBytes));
}

}  // namespace weir::net
