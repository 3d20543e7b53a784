// What parsing quickly has to know of each transport header, as a table: a
// switch over protocols would be a branch that goes wrong in mixed traffic.

#ifndef WEIR_NET_TRANSPORT_SHAPE_H_
#define WEIR_NET_TRANSPORT_SHAPE_H_

#include <array>
#include <cstdint>

#include "weir/net/ip_protocol.h"

namespace weir::net::internal {

// How many bytes a transport header says that there are, by protocol: of the
// 16 bits at `at` those of `mask`, shifted down, and `add`. It has to be
// `least` at least.
struct alignas(8) TransportShape {
  uint8_t at = 0;
  uint8_t shift = 0;
  uint8_t add = 0;
  uint8_t least = 0;
  uint16_t mask = 0;
  // An extension header of IPv6.
  bool is_extension = false;
};

inline constexpr auto kTransportShapes = [] {
  std::array<TransportShape, 256> shapes{};
  // Without a length field: any byte will do. Not said where the members are:
  // g++ 12 loses initializers other than 0 of an array's elements when it
  // optimizes.
  for (TransportShape& shape : shapes) shape = {.add = 1, .least = 1};
  // There is more to look at: no length is enough.
  for (const uint8_t protocol : {kProtocolGre, kProtocolNone}) {
    shapes[protocol] = {.add = 0, .least = 1};
  }
  for (const uint8_t protocol :
       {kProtocolHopByHop, kProtocolRouting, kProtocolFragment, kProtocolAh,
        kProtocolDestinationOptions}) {
    shapes[protocol] = {.add = 0, .least = 1, .is_extension = true};
  }
  shapes[kProtocolIcmp] = {.add = 8, .least = 8};
  shapes[kProtocolSctp] = {.add = 12, .least = 12};
  // Enough for any type (RFC 2710 §3, RFC 3376 §4.1).
  shapes[kProtocolIcmp6] = {.add = 24, .least = 24};
  shapes[kProtocolIgmp] = {.add = 12, .least = 12};
  // The length of header and data (RFC 768), or of what the checksum covers,
  // unless it is 0 (RFC 3828 §3.1).
  shapes[kProtocolUdp] = {.at = 4, .add = 0, .least = 8, .mask = 0xffff};
  shapes[kProtocolUdpLite] = shapes[kProtocolUdp];
  // The header's length in words, in the upper four bits (RFC 9293 §3.1).
  shapes[kProtocolTcp] = {
      .at = 12, .shift = 10, .add = 0, .least = 20, .mask = 0x3c};
  return shapes;
}();

}  // namespace weir::net::internal

#endif  // WEIR_NET_TRANSPORT_SHAPE_H_
