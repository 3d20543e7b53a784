// Integers in network order as a type of their own, so that a field of a wire
// header cannot be mistaken for a number: reading and writing go through
// host() and a constructor, and neither converts by itself.

#ifndef WEIR_BASE_BIG_ENDIAN_H_
#define WEIR_BASE_BIG_ENDIAN_H_

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace weir {

// The bytes of `value` in the other order.
template <std::unsigned_integral T>
constexpr T ByteSwap(T value) noexcept {
  if constexpr (sizeof(T) == 1) {
    return value;
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bswap16(value);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bswap32(value);
  } else {
    return __builtin_bswap64(value);
  }
}

// An unsigned integer in network order, alignment 1, trivial: a member of a
// wire header. Any thread.
template <std::unsigned_integral T>
class BigEndian {
 public:
  BigEndian() = default;
  constexpr explicit BigEndian(T host) noexcept
      : bytes_(std::bit_cast<Bytes>(ToNetwork(host))) {}

  // The value in the order of this machine.
  constexpr T host() const noexcept {
    return ToNetwork(std::bit_cast<T>(bytes_));
  }

  friend constexpr bool operator==(BigEndian a, BigEndian b) noexcept {
    return a.bytes_ == b.bytes_;
  }

 private:
  using Bytes = std::array<std::byte, sizeof(T)>;

  static constexpr T ToNetwork(T value) noexcept {
    if constexpr (std::endian::native == std::endian::little) {
      return ByteSwap(value);
    } else {
      return value;
    }
  }

  Bytes bytes_;
};

using Be16 = BigEndian<uint16_t>;
using Be32 = BigEndian<uint32_t>;
using Be64 = BigEndian<uint64_t>;

static_assert(sizeof(Be16) == 2 && alignof(Be16) == 1);
static_assert(sizeof(Be32) == 4 && alignof(Be32) == 1);
static_assert(sizeof(Be64) == 8 && alignof(Be64) == 1);

}  // namespace weir

#endif  // WEIR_BASE_BIG_ENDIAN_H_
