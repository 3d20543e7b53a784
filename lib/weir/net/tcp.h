// The TCP header (RFC 9293 §3.1).

#ifndef WEIR_NET_TCP_H_
#define WEIR_NET_TCP_H_

#include <cstddef>
#include <cstdint>

#include "weir/base/big_endian.h"

namespace weir::net {

// The header without options, which follow it.
struct TcpHeader {
  Be16 source_port;
  Be16 destination_port;
  Be32 sequence;
  Be32 acknowledgment;
  uint8_t data_offset;
  uint8_t flags;
  Be16 window;
  Be16 checksum;
  Be16 urgent;

  // With options; from the wire, so from 0 to 60.
  constexpr size_t header_bytes() const noexcept {
    return size_t{4} * (data_offset >> 4);
  }
};
static_assert(sizeof(TcpHeader) == 20 && alignof(TcpHeader) == 1);

inline constexpr uint8_t kTcpFin = 0x01;
inline constexpr uint8_t kTcpPsh = 0x08;
// RFC 3168 §6.1.2: the sender has reduced its window.
inline constexpr uint8_t kTcpCwr = 0x80;

}  // namespace weir::net

#endif  // WEIR_NET_TCP_H_
