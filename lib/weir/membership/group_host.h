// The host's side of group membership: says which groups somebody here wants,
// says so again when a router asks, and says when nobody does any more. One
// state machine for IGMP and MLD, whose newest versions are the same machine
// (RFC 3376 §5, RFC 3810 §6), with the older ones for routers that know no
// better (RFC 3376 §7, RFC 2236 §3, RFC 3810 §8, RFC 2710 §5).
//
// Time is given, never read; messages are taken when they are due. So it runs
// in a pipeline, in a test and in a proxy alike.

#ifndef WEIR_MEMBERSHIP_GROUP_HOST_H_
#define WEIR_MEMBERSHIP_GROUP_HOST_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "weir/membership/group_message.h"
#include "weir/membership/group_state.h"
#include "weir/membership/group_table.h"
#include "weir/membership/igmp.h"
#include "weir/membership/mld.h"

namespace weir {

struct GroupHostOptions {
  uint32_t max_groups = 256;
  // Of a group. Up to kMaxGroupSources, which fit into a record of a packet of
  // 1280 bytes.
  uint32_t max_sources = 64;
  // The newest version to speak, 0 for the newest there is.
  uint8_t version = 0;
  // Of random delays.
  uint64_t seed = 0;
};

inline constexpr uint32_t kMaxGroupSources = 64;

// A message to send: to whom, and its bytes in what Take was given.
template <typename Address>
struct GroupOutgoing {
  Address destination;
  size_t bytes;
};

// Allocates when it is made only. Owner lcore only.
template <typename Protocol>
class GroupHost {
 public:
  using Address = typename Protocol::Address;
  using Outgoing = GroupOutgoing<Address>;

  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

  explicit GroupHost(const GroupHostOptions& options);

  // From now on `group` is wanted as `mode` says of `sources`; include without
  // any: not wanted. False, and nothing changes, if there are too many groups
  // or sources. Groups of which it is still to be said that they are not wanted
  // make room.
  bool Set(const Address& group, FilterMode mode,
           std::span<const Address> sources, uint64_t now_ns) noexcept;

  // From now on no group is wanted, and that is to be over soon: what has to be
  // said again is said so within kHurriedNs, less than routers are given
  // otherwise (RFC 3376 §5.1: any time up to a second).
  void LeaveAll(uint64_t now_ns) noexcept;
  static constexpr uint64_t kHurriedNs = 50'000'000;
  // Whether it was called, and there is something left to say.
  bool is_leaving_all() const noexcept {
    return hurries_ && groups_.size() != 0;
  }

  // What a router or another host says; it came to this host.
  void OnMessage(const GroupMessage<Address>& message,
                 uint64_t now_ns) noexcept;

  // Says again which groups are wanted, as if they were new: the link was gone,
  // and who listens may be another. Forgets routers of older versions.
  void Refresh(uint64_t now_ns) noexcept;

  // When Take will have something, kNever if nothing is to come.
  uint64_t next_ns() const noexcept { return next_ns_; }

  // Writes the next message that is due; nothing if none is. To be called until
  // it says so. `out` holds MinMessageBytes() at least.
  std::optional<Outgoing> Take(std::span<std::byte> out,
                               uint64_t now_ns) noexcept;

  // Whether datagrams of `source` to `group` are wanted.
  bool Accepts(const Address& group, const Address& source) const noexcept {
    const State* const state = groups_.Find(group);
    return state != nullptr && state->Accepts(source);
  }

  // Whether those of any source are.
  bool IsMember(const Address& group) const noexcept {
    const State* const state = groups_.Find(group);
    return state != nullptr && state->is_member();
  }

  // The version it speaks.
  uint8_t version() const noexcept { return version_; }
  // Groups that are wanted, or of which it still says that they are not.
  size_t groups() const noexcept { return groups_.size(); }

  // A report with the longest record there may be.
  static constexpr size_t MinMessageBytes(uint32_t max_sources) noexcept {
    return sizeof(typename Protocol::Report) +
           sizeof(typename Protocol::Record) +
           std::min(max_sources, kMaxGroupSources) * sizeof(Address);
  }

 private:
  using State = GroupState<Address>;

  bool speaks_newest() const noexcept {
    return version_ == Protocol::kNewestVersion;
  }
  uint64_t Random(uint64_t max_ns) noexcept;
  // To the next time that a change is said.
  uint64_t RandomPause() noexcept {
    return Random(hurries_ ? kHurriedNs : Protocol::UnsolicitedNs(version_));
  }
  void OnQuery(const GroupMessage<Address>& query, uint64_t now_ns) noexcept;
  void OnGroupQuery(State& state, const GroupMessage<Address>& query,
                    uint64_t now_ns) noexcept;
  void HearVersion(const GroupMessage<Address>& query,
                   uint64_t now_ns) noexcept;
  void UpdateVersion(uint64_t now_ns) noexcept;
  void ForgetTimers() noexcept;
  void Advance(uint64_t now_ns) noexcept;
  void PlanChange(State& state, uint64_t now_ns) noexcept;
  std::optional<Outgoing> TakeReport(std::span<std::byte> out) noexcept;
  std::optional<Outgoing> TakeOld(std::span<std::byte> out) noexcept;
  void RemoveFinished() noexcept;
  void ForgetOneLeft() noexcept;
  void UpdateNext() noexcept;

  GroupTable<Address> groups_;
  uint32_t max_sources_;
  uint8_t newest_;
  uint8_t version_;
  // RFC 3376 §8.1, §8.2: what the querier last said.
  uint8_t robustness_ = 2;
  uint64_t interval_ns_ = 125'000'000'000;
  // Until when a router of version 1, 2 is taken to be there.
  std::array<uint64_t, Protocol::kNewestVersion> older_until_ns_{};
  // Of the answer for all groups.
  uint64_t response_ns_ = kNever;
  uint64_t next_ns_ = kNever;
  // Since LeaveAll, until something is wanted again.
  bool hurries_ = false;
  std::mt19937_64 random_;
};

extern template class GroupHost<Igmp>;
extern template class GroupHost<Mld>;

}  // namespace weir

#endif  // WEIR_MEMBERSHIP_GROUP_HOST_H_
