#include "weir/net/speck32.h"

#include <bit>
#include <cstring>

namespace weir::net {
namespace {

// Rotations of the upper half, to the right, and of the lower one, to the left,
// for halves of 16 bits (table 4.1 of the paper).
constexpr int kUpperRotation = 7;
constexpr int kLowerRotation = 2;

// Halves of eight blocks, in a register of any CPU that has one of 128 bits.
constexpr size_t kLanes = 8;
using Lanes [[gnu::vector_size(kLanes * sizeof(uint16_t))]] = uint16_t;

constexpr size_t kVectors = Speck32::kBlocks / kLanes;
using Halves = std::array<Lanes, kVectors>;

template <int kBits>
Lanes RotateRight(Lanes lanes) noexcept {
  return lanes >> kBits | lanes << (16 - kBits);
}

void Round(Lanes key, Lanes& upper, Lanes& lower) noexcept {
  upper = (RotateRight<kUpperRotation>(upper) + lower) ^ key;
  lower = RotateRight<16 - kLowerRotation>(lower) ^ upper;
}

}  // namespace

// The key schedule is the round function, with the round's number for a key.
Speck32::Speck32(uint64_t key) noexcept {
  auto round_key = static_cast<uint16_t>(key);
  std::array<uint16_t, 3> words = {static_cast<uint16_t>(key >> 16),
                                   static_cast<uint16_t>(key >> 32),
                                   static_cast<uint16_t>(key >> 48)};
  for (size_t round = 0; round < kRounds; ++round) {
    round_keys_[round] = round_key;
    uint16_t& word = words[round % words.size()];
    word = static_cast<uint16_t>((round_key + std::rotr(word, kUpperRotation)) ^
                                 round);
    round_key =
        static_cast<uint16_t>(std::rotl(round_key, kLowerRotation) ^ word);
  }
}

Speck32::Blocks Speck32::EncryptFrom(uint32_t first) const noexcept {
  constexpr Lanes kCount = {0, 1, 2, 3, 4, 5, 6, 7};
  const auto upper_half = static_cast<uint16_t>(first >> 16);
  const auto lower_half = static_cast<uint16_t>(first);
  Halves upper;
  Halves lower;
  for (size_t i = 0; i < kVectors; ++i) {
    lower[i] = kCount + static_cast<uint16_t>(lower_half + kLanes * i);
    // All bits set, which is -1, where the lower half went beyond 2^16.
    upper[i] = upper_half - static_cast<Lanes>(lower[i] < lower_half);
  }
  for (const uint16_t round_key : round_keys_) {
    const Lanes key = Lanes{} + round_key;
    // Not a loop, so that all of them stay in registers.
    static_assert(kVectors == 4);
    Round(key, upper[0], lower[0]);
    Round(key, upper[1], lower[1]);
    Round(key, upper[2], lower[2]);
    Round(key, upper[3], lower[3]);
  }
  Blocks blocks;
  static_assert(sizeof blocks.upper == sizeof upper);
  std::memcpy(blocks.upper.data(), upper.data(), sizeof upper);
  std::memcpy(blocks.lower.data(), lower.data(), sizeof lower);
  return blocks;
}

}  // namespace weir::net
