// The groups that a host or a router keeps: found by address, gone through in a
// row, in memory that was there from the start.

#ifndef WEIR_MEMBERSHIP_GROUP_TABLE_H_
#define WEIR_MEMBERSHIP_GROUP_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "weir/membership/group_state.h"

namespace weir {

// `State` has a group, Reserve and Begin. Owner lcore only.
template <typename State>
class BasicGroupTable {
 public:
  using Address = decltype(State::group);

  BasicGroupTable(uint32_t max_groups, uint32_t max_sources)
      : states_(max_groups) {
    for (State& state : states_) state.Reserve(max_sources);
    // Twice as many: the map makes room in place while it is half empty.
    index_.reserve(size_t{2} * max_groups);
  }

  size_t size() const noexcept { return size_; }
  bool is_full() const noexcept { return size_ == states_.size(); }
  std::span<State> all() noexcept { return {states_.data(), size_}; }

  const State* Find(const Address& group) const noexcept {
    const auto found = index_.find(group.octets);
    return found == index_.end() ? nullptr : &states_[found->second];
  }
  State* Find(const Address& group) noexcept {
    const auto found = index_.find(group.octets);
    return found == index_.end() ? nullptr : &states_[found->second];
  }

  // A new one for a group that is not there; null if there is no room.
  State* Add(const Address& group) noexcept {
    if (is_full()) return nullptr;
    State& state = states_[size_];
    state.Begin(group);
    index_[group.octets] = size_++;
    return &state;
  }

  // Pointers to others may then mean the one that was last.
  void Remove(State& state) noexcept {
    index_.erase(state.group.octets);
    State& last = states_[--size_];
    if (&state == &last) return;
    std::swap(state, last);
    index_[state.group.octets] = static_cast<uint32_t>(&state - &states_[0]);
  }

 private:
  std::vector<State> states_;
  absl::flat_hash_map<decltype(Address::octets), uint32_t> index_;
  uint32_t size_ = 0;
};

// That of a host.
template <typename Address>
using GroupTable = BasicGroupTable<GroupState<Address>>;

}  // namespace weir

#endif  // WEIR_MEMBERSHIP_GROUP_TABLE_H_
