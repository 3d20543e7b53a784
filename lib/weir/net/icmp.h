// ICMP (RFC 792) and ICMPv6 (RFC 4443): the part that messages share.

#ifndef WEIR_NET_ICMP_H_
#define WEIR_NET_ICMP_H_

#include <cstdint>

#include "weir/base/big_endian.h"

namespace weir::net {

// Every message of ICMP is at least that long.
struct IcmpHeader {
  uint8_t type;
  uint8_t code;
  Be16 checksum;
  // Of echo: identifier and sequence number; of errors unused, or a pointer,
  // an address or an MTU.
  Be32 rest;
};
static_assert(sizeof(IcmpHeader) == 8 && alignof(IcmpHeader) == 1);

// RFC 4443 §2.1. Most messages have more.
struct Icmp6Header {
  uint8_t type;
  uint8_t code;
  Be16 checksum;
};
static_assert(sizeof(Icmp6Header) == 4 && alignof(Icmp6Header) == 1);

inline constexpr uint8_t kIcmpEchoReply = 0;
inline constexpr uint8_t kIcmpUnreachable = 3;
inline constexpr uint8_t kIcmpEcho = 8;
inline constexpr uint8_t kIcmpTimeExceeded = 11;
// Codes of kIcmpUnreachable and kIcmpTimeExceeded.
inline constexpr uint8_t kIcmpFragmentationNeeded = 4;
inline constexpr uint8_t kIcmpReassemblyTime = 1;

inline constexpr uint8_t kIcmp6Unreachable = 1;
inline constexpr uint8_t kIcmp6PacketTooBig = 2;
inline constexpr uint8_t kIcmp6TimeExceeded = 3;
inline constexpr uint8_t kIcmp6ParameterProblem = 4;
inline constexpr uint8_t kIcmp6Echo = 128;
inline constexpr uint8_t kIcmp6EchoReply = 129;
// Multicast Router Solicitation and Termination (RFC 4286 §4, §5) have no body.
inline constexpr uint8_t kIcmp6MrdSolicitation = 152;
inline constexpr uint8_t kIcmp6MrdTermination = 153;

}  // namespace weir::net

#endif  // WEIR_NET_ICMP_H_
