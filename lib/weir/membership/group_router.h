// The router's side of group membership on one link: asks who is a member of
// what, and knows what has to be forwarded there (RFC 3376 §6, RFC 3810 §7).
// With a GroupHost on another link, which wants what is wanted here, it is a
// proxy (RFC 4605).

#ifndef WEIR_MEMBERSHIP_GROUP_ROUTER_H_
#define WEIR_MEMBERSHIP_GROUP_ROUTER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "weir/base/counter.h"
#include "weir/membership/group_host.h"
#include "weir/membership/group_message.h"
#include "weir/membership/group_table.h"
#include "weir/membership/igmp.h"
#include "weir/membership/mld.h"
#include "weir/membership/router_state.h"

namespace weir {

// RFC 3376 §8, RFC 3810 §9.
struct GroupRouterOptions {
  uint32_t max_groups = 256;
  // Of a group, up to kMaxGroupSources.
  uint32_t max_sources = 64;
  uint8_t robustness = 2;
  uint64_t query_interval_ns = 125'000'000'000;
  uint64_t response_ns = 10'000'000'000;
  uint64_t last_member_ns = 1'000'000'000;
};

// What of a group has to be forwarded: of `sources`, or of all but those.
template <typename Address>
struct GroupForward {
  Address group;
  FilterMode mode;
  std::span<const Address> sources;
};

// What could not be kept. Owner lcore writes.
struct GroupRouterCounts {
  // Records of groups without room.
  Counter groups_refused;
  // Sources without room: unknown ones are forwarded if the group is, else not.
  Counter sources_refused;
};

// Allocates when it is made only. Owner lcore only.
template <typename Protocol>
class GroupRouter {
 public:
  using Address = typename Protocol::Address;
  using Outgoing = GroupOutgoing<Address>;
  using Forward = GroupForward<Address>;

  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

  // `address` is what its queries come from: of several routers the one with
  // the lowest asks (RFC 3376 §6.6.2). It begins to ask at once.
  GroupRouter(const GroupRouterOptions& options, const Address& address);

  // What `from` says on the link.
  void OnMessage(const GroupMessage<Address>& message, const Address& from,
                 uint64_t now_ns) noexcept;

  // When Take or TakeChange will have something.
  uint64_t next_ns() const noexcept { return next_ns_; }

  // Writes the next query that is due; nothing if none is. To be called until
  // it says so. `out` holds at least MinMessageBytes of GroupHost.
  std::optional<Outgoing> Take(std::span<std::byte> out,
                               uint64_t now_ns) noexcept;

  // A group of which something else has to be forwarded than before; include
  // without sources: nothing. What it refers to stays until the next call.
  std::optional<Forward> TakeChange(uint64_t now_ns) noexcept;

  // Whether datagrams of `source` to `group` have to be forwarded.
  bool Forwards(const Address& group, const Address& source) const noexcept;

  // Whether it is this router that asks.
  bool is_querier(uint64_t now_ns) const noexcept {
    return other_until_ns_ <= now_ns;
  }
  size_t groups() const noexcept { return groups_.size(); }
  // Any thread.
  const GroupRouterCounts& counts() const noexcept { return counts_; }

 private:
  using State = RouterState<Address>;
  using List = AddressList<Address>;

  uint64_t membership_ns() const noexcept {
    return robustness_ * interval_ns_ + options_.response_ns;
  }
  uint64_t last_member_time_ns() const noexcept {
    return robustness_ * options_.last_member_ns;
  }
  void OnQuery(const GroupMessage<Address>& query, const Address& from,
               uint64_t now_ns) noexcept;
  void OnRecord(uint8_t type, const Address& group, const List& list,
                uint64_t now_ns) noexcept;
  void OnInclude(State& state, RecordType type, const List& list,
                 uint64_t now_ns) noexcept;
  void OnExclude(State& state, RecordType type, const List& list,
                 uint64_t now_ns) noexcept;
  void WantAll(State& state, const List& list, uint64_t until_ns) noexcept;
  void ToExclude(State& state, const List& list, uint64_t source_until_ns,
                 uint64_t now_ns) noexcept;
  template <typename F>
  void AskForSources(State& state, F wants, uint64_t now_ns) noexcept;
  void AskForGroup(State& state, uint64_t now_ns) noexcept;
  void Count(bool kept) noexcept {
    if (!kept) counts_.sources_refused.Add(1);
  }
  void Expire(uint64_t now_ns) noexcept;
  std::optional<Outgoing> TakeGeneral(std::span<std::byte> out,
                                      uint64_t now_ns) noexcept;
  std::optional<Outgoing> TakeOf(State& state, std::span<std::byte> out,
                                 uint64_t now_ns) noexcept;
  void UpdateNext() noexcept;

  BasicGroupTable<State> groups_;
  GroupRouterOptions options_;
  Address address_;
  // Of the router that asks.
  uint8_t robustness_;
  uint64_t interval_ns_;
  // Of queries for all: when the next is due, how many are sent fast.
  uint64_t general_ns_ = 0;
  uint8_t startup_left_;
  // Until when another router asks.
  uint64_t other_until_ns_ = 0;
  uint64_t next_ns_ = 0;
  GroupRouterCounts counts_;
  // What TakeChange and Take list.
  std::vector<Address> listed_;
};

extern template class GroupRouter<Igmp>;
extern template class GroupRouter<Mld>;

}  // namespace weir

#endif  // WEIR_MEMBERSHIP_GROUP_ROUTER_H_
