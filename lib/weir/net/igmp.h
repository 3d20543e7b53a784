// The Internet Group Management Protocol, versions 1 to 3 (RFC 1112, RFC 2236,
// RFC 3376).

#ifndef WEIR_NET_IGMP_H_
#define WEIR_NET_IGMP_H_

#include <cstdint>

#include "weir/base/big_endian.h"
#include "weir/net/ipv4.h"

namespace weir::net {

// RFC 2236 §2; the start of queries of version 3 as well.
struct IgmpHeader {
  uint8_t type;
  uint8_t max_response;
  Be16 checksum;
  Ipv4Address group;
};
static_assert(sizeof(IgmpHeader) == 8 && alignof(IgmpHeader) == 1);

// A query of version 3 (RFC 3376 §4.1); the sources follow.
struct Igmp3Query {
  IgmpHeader igmp;
  // Suppress router-side processing: bit 3; robustness: bits 0 to 2.
  uint8_t flags;
  uint8_t interval_code;
  Be16 sources;
};
static_assert(sizeof(Igmp3Query) == 12 && alignof(Igmp3Query) == 1);

// A report of version 3 (RFC 3376 §4.2); the records follow.
struct Igmp3Report {
  uint8_t type;
  uint8_t reserved;
  Be16 checksum;
  Be16 flags;
  Be16 records;
};
static_assert(sizeof(Igmp3Report) == 8 && alignof(Igmp3Report) == 1);

// One of its records (RFC 3376 §4.2.4); sources, then auxiliary data follow.
struct Igmp3Record {
  uint8_t type;
  uint8_t auxiliary_words;
  Be16 sources;
  Ipv4Address group;
};
static_assert(sizeof(Igmp3Record) == 8 && alignof(Igmp3Record) == 1);

inline constexpr uint8_t kIgmpQuery = 0x11;
inline constexpr uint8_t kIgmp1Report = 0x12;
inline constexpr uint8_t kIgmp2Report = 0x16;
inline constexpr uint8_t kIgmp2Leave = 0x17;
inline constexpr uint8_t kIgmp3Report = 0x22;
// Multicast Router Solicitation and Termination (RFC 4286 §4, §5) have four
// bytes.
inline constexpr uint8_t kIgmpMrdSolicitation = 0x31;
inline constexpr uint8_t kIgmpMrdTermination = 0x32;

}  // namespace weir::net

#endif  // WEIR_NET_IGMP_H_
