#include "weir/stage/choose_by_flow.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace weir {
namespace {

constexpr uint32_t kFewestFlows = 64;
constexpr uint32_t kMostFlows = uint32_t{1} << 26;

}  // namespace

PresentOutlets::PresentOutlets(const OutletNames& outlets)
    : is_present(outlets.is_present.begin(), outlets.is_present.end()) {
  for (size_t i = 0; i < is_present.size(); ++i) {
    if (is_present[i] != 0) numbers.push_back(static_cast<uint16_t>(i));
  }
}

ChooseByFlow::ChooseByFlow(std::shared_ptr<FlowOutlets> outlets, uint32_t flows)
    : outlets_(std::move(outlets)),
      present_(&outlets_->Read()),
      sets_(std::bit_ceil(std::clamp(flows, kFewestFlows, kMostFlows)) /
            kPlaces) {
  for (Set& set : sets_) set.outlets.fill(kNobody);
}

uint32_t ChooseByFlow::Choose(const Mbuf& packet) noexcept {
  const uint32_t hash = packet.hash();
  Set& set = SetOf(hash);
  uint32_t matches = 0;
  for (uint32_t i = 0; i < kPlaces; ++i) {
    matches |= (set.hashes[i] == hash && set.outlets[i] != kNobody ? 1U : 0U)
               << i;
  }
  uint32_t place;
  if (matches != 0) [[likely]] {
    place = static_cast<uint32_t>(std::countr_zero(matches));
    if (present_->is_present[set.outlets[place]] == 0) [[unlikely]] {
      set.outlets[place] = Deal();
    }
  } else {
    place = PlaceFor(set);
    if (set.outlets[place] != kNobody) counts_->evicted.Add(1);
    set.hashes[place] = hash;
    set.outlets[place] = Deal();
  }
  set.used[place] = now_;
  return set.outlets[place];
}

// A place that was never used, or that of the flow quiet longest.
uint32_t ChooseByFlow::PlaceFor(const Set& set) const noexcept {
  uint32_t best = 0;
  uint32_t best_age = 0;
  for (uint32_t i = 0; i < kPlaces; ++i) {
    if (set.outlets[i] == kNobody) return i;
    const uint32_t age = static_cast<uint16_t>(now_ - set.used[i]);
    if (age > best_age) {
      best = i;
      best_age = age;
    }
  }
  return best;
}

uint16_t ChooseByFlow::Deal() noexcept {
  counts_->dealt.Add(1);
  if (next_ >= present_->numbers.size()) next_ = 0;
  return present_->numbers[next_++];
}

}  // namespace weir
