#include "weir/net/toeplitz.h"

#include <algorithm>

namespace weir::net {
namespace {

// The 32 bits of the key from bit `first` on, bit 0 being the leftmost.
uint32_t Window(std::span<const std::byte, kToeplitzKeyBytes> key,
                size_t first) {
  uint64_t bits = 0;
  for (size_t i = 0; i < 5; ++i) {
    const size_t at = first / 8 + i;
    const auto byte =
        at < key.size() ? std::to_integer<uint64_t>(key[at]) : uint64_t{0};
    bits = bits << 8 | byte;
  }
  return static_cast<uint32_t>(bits >> (8 - first % 8));
}

}  // namespace

Toeplitz::Toeplitz(std::span<const std::byte, kToeplitzKeyBytes> key) noexcept {
  for (size_t half = 0; half < halves_.size(); ++half) {
    for (uint32_t value = 0; value < 16; ++value) {
      uint32_t sum = 0;
      for (size_t bit = 0; bit < 4; ++bit) {
        if ((value & (8u >> bit)) != 0) sum ^= Window(key, half * 4 + bit);
      }
      halves_[half][value] = sum;
    }
  }
}

uint32_t Toeplitz::Hash(std::span<const std::byte> input) const noexcept {
  const size_t bytes = std::min(input.size(), kMaxToeplitzInputBytes);
  uint32_t hash = 0;
  for (size_t i = 0; i < bytes; ++i) {
    const auto byte = std::to_integer<uint32_t>(input[i]);
    hash ^= halves_[2 * i][byte >> 4] ^ halves_[2 * i + 1][byte & 15];
  }
  return hash;
}

}  // namespace weir::net
