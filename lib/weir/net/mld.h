// Multicast Listener Discovery, versions 1 and 2 (RFC 2710, RFC 3810): ICMPv6
// messages.

#ifndef WEIR_NET_MLD_H_
#define WEIR_NET_MLD_H_

#include <cstdint>

#include "weir/base/big_endian.h"
#include "weir/net/ipv6.h"

namespace weir::net {

// RFC 2710 §3; the start of queries of version 2 as well.
struct MldHeader {
  uint8_t type;
  uint8_t code;
  Be16 checksum;
  Be16 max_response;
  Be16 reserved;
  Ipv6Address group;
};
static_assert(sizeof(MldHeader) == 24 && alignof(MldHeader) == 1);

// A query of version 2 (RFC 3810 §5.1); the sources follow.
struct Mld2Query {
  MldHeader mld;
  // Suppress router-side processing: bit 3; robustness: bits 0 to 2.
  uint8_t flags;
  uint8_t interval_code;
  Be16 sources;
};
static_assert(sizeof(Mld2Query) == 28 && alignof(Mld2Query) == 1);

// A report of version 2 (RFC 3810 §5.2); the records follow.
struct Mld2Report {
  uint8_t type;
  uint8_t reserved;
  Be16 checksum;
  Be16 flags;
  Be16 records;
};
static_assert(sizeof(Mld2Report) == 8 && alignof(Mld2Report) == 1);

// One of its records (RFC 3810 §5.2.4); sources, then auxiliary data follow.
struct Mld2Record {
  uint8_t type;
  uint8_t auxiliary_words;
  Be16 sources;
  Ipv6Address group;
};
static_assert(sizeof(Mld2Record) == 20 && alignof(Mld2Record) == 1);

inline constexpr uint8_t kMldQuery = 130;
inline constexpr uint8_t kMld1Report = 131;
inline constexpr uint8_t kMld1Done = 132;
inline constexpr uint8_t kMld2Report = 143;

}  // namespace weir::net

#endif  // WEIR_NET_MLD_H_
