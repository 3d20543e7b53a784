// The UDP-Lite header (RFC 3828 §3.1).

#ifndef WEIR_NET_UDP_LITE_H_
#define WEIR_NET_UDP_LITE_H_

#include "weir/base/big_endian.h"

namespace weir::net {

struct UdpLiteHeader {
  Be16 source_port;
  Be16 destination_port;
  // Bytes from the header's start that the checksum covers; 0 means all,
  // 1 to 7 are wrong.
  Be16 coverage;
  // Never 0.
  Be16 checksum;
};
static_assert(sizeof(UdpLiteHeader) == 8 && alignof(UdpLiteHeader) == 1);

}  // namespace weir::net

#endif  // WEIR_NET_UDP_LITE_H_
