// Assigned Internet protocol numbers, of IPv4 and IPv6 alike (IANA, "Assigned
// Internet Protocol Numbers"; RFC 8200 §4 for the extension headers).

#ifndef WEIR_NET_IP_PROTOCOL_H_
#define WEIR_NET_IP_PROTOCOL_H_

#include <cstdint>

namespace weir::net {

inline constexpr uint8_t kProtocolHopByHop = 0;
inline constexpr uint8_t kProtocolIcmp = 1;
inline constexpr uint8_t kProtocolIgmp = 2;
// IPv4 in IP (RFC 2003).
inline constexpr uint8_t kProtocolIpv4 = 4;
inline constexpr uint8_t kProtocolTcp = 6;
inline constexpr uint8_t kProtocolUdp = 17;
// IPv6 in IP (RFC 2473).
inline constexpr uint8_t kProtocolIpv6 = 41;
inline constexpr uint8_t kProtocolRouting = 43;
inline constexpr uint8_t kProtocolFragment = 44;
inline constexpr uint8_t kProtocolGre = 47;
// Encapsulating Security Payload: what follows is encrypted (RFC 4303).
inline constexpr uint8_t kProtocolEsp = 50;
// Authentication Header (RFC 4302).
inline constexpr uint8_t kProtocolAh = 51;
inline constexpr uint8_t kProtocolIcmp6 = 58;
// Nothing follows (RFC 8200 §4.7).
inline constexpr uint8_t kProtocolNone = 59;
inline constexpr uint8_t kProtocolDestinationOptions = 60;
inline constexpr uint8_t kProtocolSctp = 132;
inline constexpr uint8_t kProtocolUdpLite = 136;

}  // namespace weir::net

#endif  // WEIR_NET_IP_PROTOCOL_H_
