// The length of a frame in its own header: IEEE 802.3 frames have one where
// others have an EtherType, and who makes a frame longer or shorter has to
// write it anew.

#ifndef WEIR_NET_FRAME_LENGTH_H_
#define WEIR_NET_FRAME_LENGTH_H_

#include <cstddef>
#include <optional>
#include <span>

#include "weir/base/big_endian.h"
#include "weir/net/ethernet.h"
#include "weir/net/load_store.h"

namespace weir::net {

// Where the length stands in `layer2`, the headers in front of layer 3; nothing
// if they have an EtherType. Looks through VLAN tags. Any thread.
inline std::optional<size_t> FrameLengthOffset(
    std::span<const std::byte> layer2) noexcept {
  size_t offset = offsetof(EthernetHeader, type);
  while (offset + sizeof(Be16) <= layer2.size()) {
    const uint16_t type = LoadHeader<Be16>(layer2, offset).host();
    if (type < kMinEtherType) return offset;
    if (type != kEtherTypeVlan && type != kEtherTypeQinQ &&
        type != kEtherTypeOldQinQ) {
      return std::nullopt;
    }
    offset += sizeof(VlanTag);
  }
  return std::nullopt;
}

// Writes the length, which stands at `offset` of `header`, of a frame of
// `frame_bytes` bytes. Any thread.
inline void StoreFrameLength(std::span<std::byte> header, size_t offset,
                             size_t frame_bytes) noexcept {
  StoreHeader(header, offset,
              Be16(static_cast<uint16_t>(frame_bytes - offset - sizeof(Be16))));
}

}  // namespace weir::net

#endif  // WEIR_NET_FRAME_LENGTH_H_
