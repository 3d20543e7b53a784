// The Geneve header (RFC 8926 §3.4).

#ifndef WEIR_NET_GENEVE_H_
#define WEIR_NET_GENEVE_H_

#include <cstddef>
#include <cstdint>

#include "weir/base/big_endian.h"

namespace weir::net {

// Behind UDP; options follow.
struct GeneveHeader {
  // Version in the upper two bits, below them the options' length in words.
  uint8_t version_and_length;
  uint8_t flags;
  // The EtherType of what is inside.
  Be16 protocol;
  // The network identifier in the upper 24 bits.
  Be32 network;

  constexpr unsigned version() const noexcept {
    return unsigned{version_and_length} >> 6;
  }
  // With options.
  constexpr size_t header_bytes() const noexcept {
    return 8 + size_t{4} * (version_and_length & 0x3f);
  }
  constexpr uint32_t vni() const noexcept { return network.host() >> 8; }
};
static_assert(sizeof(GeneveHeader) == 8 && alignof(GeneveHeader) == 1);

inline constexpr uint16_t kGenevePort = 6081;

}  // namespace weir::net

#endif  // WEIR_NET_GENEVE_H_
