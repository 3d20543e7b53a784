#include "weir/net/fragment_ids.h"

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

}  // namespace

FragmentIds::FragmentIds(uint64_t seed) noexcept
    : count_(static_cast<uint32_t>(NextOf(seed))), cipher_(NextOf(seed)) {}

void FragmentIds::Refill() noexcept {
  ids_ = cipher_.EncryptFrom(count_);
  count_ += Speck32::kBlocks;
  given_ = 0;
}

}  // namespace weir::net
