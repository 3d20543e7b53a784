#include "weir/net/fragment_ids.h"

#include <bit>

namespace weir::net {
namespace {

// SplitMix64 (Steele, Lea and Flood 2014): well-mixed numbers from any seed.
uint64_t NextOf(uint64_t& state) noexcept {
  state += 0x9e3779b97f4a7c15;
  uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

// 16 bits of a keyed mix of 16 bits: two rounds of SipHash (Aumasson and
// Bernstein 2012, §2.1).
uint32_t Mix(uint64_t a, uint64_t b, uint32_t half) noexcept {
  uint64_t v0 = a ^ 0x736f6d6570736575;
  uint64_t v1 = b ^ 0x646f72616e646f6d;
  uint64_t v2 = a ^ 0x6c7967656e657261;
  uint64_t v3 = b ^ 0x7465646279746573 ^ half;
  for (int round = 0; round < 2; ++round) {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32) + v3;
    v2 += v1;
    v3 = std::rotl(v3, 21) ^ v0;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  const uint64_t mixed = v0 ^ v1 ^ v2 ^ v3;
  return static_cast<uint32_t>(mixed ^ (mixed >> 32)) & 0xffff;
}

}  // namespace

FragmentIds::FragmentIds(uint64_t seed) noexcept {
  for (Key& key : keys_) key = {NextOf(seed), NextOf(seed)};
  factor_ = static_cast<uint32_t>(NextOf(seed)) | 1;
  count_ = static_cast<uint32_t>(NextOf(seed));
  next_ = Permute(count_++);
}

uint32_t FragmentIds::Permute(uint32_t number) const noexcept {
  number *= factor_;
  uint32_t left = number >> 16;
  uint32_t right = number & 0xffff;
  for (const Key& key : keys_) {
    left ^= Mix(key.a, key.b, right);
    const uint32_t swapped = left;
    left = right;
    right = swapped;
  }
  return left << 16 | right;
}

}  // namespace weir::net
