// The common header of SCTP (RFC 9260 §3.1).

#ifndef WEIR_NET_SCTP_H_
#define WEIR_NET_SCTP_H_

#include <array>
#include <cstdint>

#include "weir/base/big_endian.h"

namespace weir::net {

struct SctpHeader {
  Be16 source_port;
  Be16 destination_port;
  Be32 verification_tag;
  // CRC32c over the packet with this field 0, its low octet first (appendix A):
  // no number in network order.
  std::array<uint8_t, 4> checksum;
};
static_assert(sizeof(SctpHeader) == 12 && alignof(SctpHeader) == 1);

}  // namespace weir::net

#endif  // WEIR_NET_SCTP_H_
