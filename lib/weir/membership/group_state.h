// What a host keeps of one group: what is wanted of it, what of that has still
// to be said, and when.

#ifndef WEIR_MEMBERSHIP_GROUP_STATE_H_
#define WEIR_MEMBERSHIP_GROUP_STATE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "weir/membership/group_message.h"

namespace weir {

// A source that is in the list, or was and has to be taken back.
template <typename Address>
struct GroupSource {
  Address address;
  bool is_listed;
  // How often its change has still to be said, and whether it is now.
  uint8_t sends_left;
  bool is_due;
};

// Never grows once Reserve was called. Owner lcore only.
template <typename Address>
struct GroupState {
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

  // What a message has to say now.
  enum Due : uint8_t {
    kCurrent = 1,
    kCurrentOfQueried = 2,
    kModeChange = 4,
    kAllow = 8,
    kBlock = 16,
    kOldReport = 32,
    kLeave = 64,
  };

  Address group{};
  FilterMode mode = FilterMode::kInclude;
  uint8_t due = 0;
  // How often the change of mode has still to be said.
  uint8_t sends_left = 0;
  // Whether the last change was said once.
  bool was_said = false;
  // When to say what changed once more, and when to answer.
  uint64_t change_ns = kNever;
  uint64_t response_ns = kNever;
  std::vector<GroupSource<Address>> sources;
  // That a router asked about; all if there are none.
  std::vector<Address> queried;

  void Reserve(size_t max_sources) {
    // Those that are listed, and as many that were.
    sources.reserve(2 * max_sources);
    queried.reserve(max_sources);
  }

  // As a new one; keeps its memory.
  void Begin(const Address& address) noexcept {
    group = address;
    mode = FilterMode::kInclude;
    due = 0;
    sends_left = 0;
    was_said = false;
    change_ns = kNever;
    response_ns = kNever;
    sources.clear();
    queried.clear();
  }

  size_t listed() const noexcept {
    return static_cast<size_t>(std::count_if(
        sources.begin(), sources.end(),
        [](const GroupSource<Address>& source) { return source.is_listed; }));
  }

  // Whether anything of the group is wanted.
  bool is_member() const noexcept {
    return mode == FilterMode::kExclude ||
           std::any_of(sources.begin(), sources.end(),
                       [](const auto& source) { return source.is_listed; });
  }

  bool Accepts(const Address& source) const noexcept {
    const bool is_listed = Lists(source);
    return mode == FilterMode::kInclude ? is_listed : !is_listed;
  }

  bool Lists(const Address& source) const noexcept {
    return std::any_of(sources.begin(), sources.end(),
                       [&source](const GroupSource<Address>& listed) {
                         return listed.is_listed && listed.address == source;
                       });
  }

  // Whether everything was said and it is wanted no more.
  bool is_finished() const noexcept {
    return due == 0 && sends_left == 0 && sources.empty() &&
           mode == FilterMode::kInclude;
  }

  // Forgets sources that are neither listed nor to be told of.
  void DropTold() noexcept {
    std::erase_if(sources, [](const GroupSource<Address>& source) {
      return !source.is_listed && source.sends_left == 0 && !source.is_due;
    });
  }

  // Has nothing to say of sources any more.
  void ForgetSources() noexcept {
    for (GroupSource<Address>& source : sources) {
      source.sends_left = 0;
      source.is_due = false;
    }
    DropTold();
  }

  // Changes what is wanted; what is new will be said `sends` times. Returns
  // whether anything is.
  bool Change(FilterMode to, std::span<const Address> list,
              uint8_t sends) noexcept;
};

template <typename Address>
bool GroupState<Address>::Change(FilterMode to, std::span<const Address> list,
                                 uint8_t sends) noexcept {
  const auto wants = [list](const Address& address) {
    return std::find(list.begin(), list.end(), address) != list.end();
  };
  if (to != mode) {
    // The record of a change of mode has the whole list.
    mode = to;
    sends_left = sends;
    sources.clear();
    for (const Address& address : list) {
      if (!Lists(address)) sources.push_back({address, true, 0, false});
    }
    return true;
  }
  bool has_changed = false;
  for (GroupSource<Address>& source : sources) {
    if (source.is_listed == wants(source.address)) continue;
    source.is_listed = !source.is_listed;
    source.sends_left = sends;
    has_changed = true;
  }
  for (const Address& address : list) {
    if (Lists(address)) continue;
    if (sources.size() == sources.capacity()) {
      // Old news makes room; there is always some, for lists are at most half.
      sources.erase(std::find_if(
          sources.begin(), sources.end(),
          [](const GroupSource<Address>& s) { return !s.is_listed; }));
    }
    sources.push_back({address, true, sends, false});
    has_changed = true;
  }
  return has_changed;
}

}  // namespace weir

#endif  // WEIR_MEMBERSHIP_GROUP_STATE_H_
