// Bytes of a packet whose place in its segments does not matter.

#ifndef WEIR_STAGE_CHAIN_BYTES_H_
#define WEIR_STAGE_CHAIN_BYTES_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "weir/mbuf/mbuf.h"

namespace weir {

// Calls take(span) for the pieces of `bytes` bytes from `offset` of `packet`
// on, in order, fewer if it ends before. PacketMbuf is Mbuf or const Mbuf.
// Owner lcore only.
template <typename PacketMbuf, typename Take>
void ForEachPiece(PacketMbuf& packet, size_t offset, size_t bytes,
                  const Take& take) noexcept {
  for (PacketMbuf* segment = &packet; segment != nullptr && bytes != 0;
       segment = segment->next()) {
    const auto piece = segment->bytes();
    if (offset >= piece.size()) {
      offset -= piece.size();
      continue;
    }
    const size_t count = std::min(piece.size() - offset, bytes);
    take(piece.subspan(offset, count));
    offset = 0;
    bytes -= count;
  }
}

// Copies the bytes from `offset` of `packet` on to the front of `to`, and
// returns how many there were. Owner lcore only.
inline size_t CopyFrom(const Mbuf& packet, size_t offset,
                       std::span<std::byte> to) noexcept {
  size_t copied = 0;
  ForEachPiece(packet, offset, to.size(),
               [&](std::span<const std::byte> piece) noexcept {
                 std::memcpy(to.data() + copied, piece.data(), piece.size());
                 copied += piece.size();
               });
  return copied;
}

// Writes `from` to the bytes from `offset` of `packet` on, as far as there are
// any. Owner lcore only.
inline void CopyTo(Mbuf& packet, size_t offset,
                   std::span<const std::byte> from) noexcept {
  size_t copied = 0;
  ForEachPiece(packet, offset, from.size(),
               [&](std::span<std::byte> piece) noexcept {
                 std::memcpy(piece.data(), from.data() + copied, piece.size());
                 copied += piece.size();
               });
}

}  // namespace weir

#endif  // WEIR_STAGE_CHAIN_BYTES_H_
