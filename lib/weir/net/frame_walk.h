// How far a parse has come: shared by the parsers of layers 2, 3 and 4, which
// are files of their own.

#ifndef WEIR_NET_FRAME_WALK_H_
#define WEIR_NET_FRAME_WALK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/net/load_store.h"
#include "weir/net/parsed_frame.h"

namespace weir::net::internal {

// Member functions that return bool say whether to go on; if not,
// `found.error` says why. Any thread.
struct FrameWalk {
  // The bytes at hand, and those that the frame has.
  std::span<const std::byte> first;
  size_t frame_bytes;
  // Where what is being looked at ends as the lengths in front of it say;
  // beyond frame_bytes if the frame was captured short.
  size_t end;
  ParseOptions::TinyFragments tiny_fragments;
  ParsedFrame found = {};

  // False, for the reason `error`.
  bool Fail(ParseError error) noexcept {
    found.error = error;
    return false;
  }

  // Whether the bytes before `until` can be read. If they are not part of what
  // is being looked at, the reason is `truncated`.
  bool Reach(size_t until, ParseError truncated) noexcept {
    if (until <= std::min(first.size(), end)) return true;
    if (until > end) return Fail(truncated);
    if (until > frame_bytes) return Fail(ParseError::kCapturedShort);
    found.needed_bytes = static_cast<uint16_t>(until);
    return Fail(ParseError::kSplit);
  }

  // The header at `offset`, which must be in reach.
  template <typename Header>
  Header At(size_t offset) const noexcept {
    return LoadHeader<Header>(first, offset);
  }

  // The packet ends at `packet_end`, which is not beyond `end`.
  bool EndAt(size_t packet_end) noexcept {
    end = packet_end;
    if (end >= frame_bytes) return true;
    const size_t trailer = frame_bytes - end;
    if (trailer > UINT16_MAX) return Fail(ParseError::kTrailerLong);
    found.trailer_bytes = static_cast<uint16_t>(trailer);
    return true;
  }

  void FoundL3(NetworkLayer l3, size_t offset) noexcept {
    found.l3 = l3;
    found.l3_offset = static_cast<uint16_t>(offset);
  }
  void FoundL4(uint8_t protocol, size_t offset) noexcept {
    found.protocol = protocol;
    found.l4_offset = static_cast<uint16_t>(offset);
  }
};

}  // namespace weir::net::internal

#endif  // WEIR_NET_FRAME_WALK_H_
