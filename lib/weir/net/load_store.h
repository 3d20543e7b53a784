// Headers in and out of frames by copy: a header then has a type and an
// alignment, and no pointer to the frame pretends to be one.

#ifndef WEIR_NET_LOAD_STORE_H_
#define WEIR_NET_LOAD_STORE_H_

#include <cassert>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

namespace weir::net {

// The header at `offset` of `frame`, all of which must be there. Any thread.
template <typename Header>
Header LoadHeader(std::span<const std::byte> frame, size_t offset) noexcept {
  static_assert(std::is_trivially_copyable_v<Header> && alignof(Header) == 1);
  assert(offset + sizeof(Header) <= frame.size());
  Header header;
  std::memcpy(&header, frame.data() + offset, sizeof header);
  return header;
}

// Puts `header` at `offset` of `frame`, where there must be room. Any thread.
template <typename Header>
void StoreHeader(std::span<std::byte> frame, size_t offset,
                 const Header& header) noexcept {
  static_assert(std::is_trivially_copyable_v<Header> && alignof(Header) == 1);
  assert(offset + sizeof(Header) <= frame.size());
  std::memcpy(frame.data() + offset, &header, sizeof header);
}

}  // namespace weir::net

#endif  // WEIR_NET_LOAD_STORE_H_
