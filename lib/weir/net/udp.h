// The UDP header (RFC 768).

#ifndef WEIR_NET_UDP_H_
#define WEIR_NET_UDP_H_

#include "weir/base/big_endian.h"

namespace weir::net {

struct UdpHeader {
  Be16 source_port;
  Be16 destination_port;
  // Of header and payload, in bytes.
  Be16 length;
  // 0 means none; a sum of 0 is sent as 0xffff.
  Be16 checksum;
};
static_assert(sizeof(UdpHeader) == 8 && alignof(UdpHeader) == 1);

}  // namespace weir::net

#endif  // WEIR_NET_UDP_H_
