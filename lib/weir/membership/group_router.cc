#include "weir/membership/group_router.h"

#include <algorithm>

#include "weir/membership/group_records.h"
#include "weir/net/group_address.h"

namespace weir {
namespace {

template <typename Address>
bool Contains(const AddressList<Address>& list, const Address& address) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] == address) return true;
  }
  return false;
}

}  // namespace

template <typename P>
GroupRouter<P>::GroupRouter(const GroupRouterOptions& options,
                            const Address& address)
    : groups_(options.max_groups,
              std::min(options.max_sources, kMaxGroupSources)),
      options_(options),
      address_(address),
      robustness_(options.robustness),
      interval_ns_(options.query_interval_ns),
      startup_left_(options.robustness) {
  listed_.reserve(kMaxGroupSources);
}

template <typename P>
void GroupRouter<P>::OnMessage(const GroupMessage<Address>& message,
                               const Address& from, uint64_t now_ns) noexcept {
  using Kind = typename GroupMessage<Address>::Kind;
  const auto is_exclude = static_cast<uint8_t>(RecordType::kIsExclude);
  const auto to_include = static_cast<uint8_t>(RecordType::kToInclude);
  switch (message.kind) {
    case Kind::kQuery:
      OnQuery(message, from, now_ns);
      break;
    case Kind::kReport:
      ForEachRecord<typename P::Record, Address>(
          message.records,
          [this, now_ns](uint8_t type, const Address& group, const List& list) {
            OnRecord(type, group, list, now_ns);
          });
      break;
    case Kind::kOldReport:
      // RFC 3376 §7.3.2: such a member wants all sources.
      OnRecord(is_exclude, message.group, {}, now_ns);
      if (State* const state = groups_.Find(message.group)) {
        state->older_until_ns[message.version] = now_ns + membership_ns();
      }
      break;
    case Kind::kLeave:
      if (groups_.Find(message.group) != nullptr) {
        OnRecord(to_include, message.group, {}, now_ns);
      }
      break;
  }
  UpdateNext();
}

// RFC 3376 §6.6.
template <typename P>
void GroupRouter<P>::OnQuery(const GroupMessage<Address>& query,
                             const Address& from, uint64_t now_ns) noexcept {
  if (from != Address{} && from < address_) {
    // RFC 3376 §4.1.6, §4.1.7: who does not ask has the values of who does.
    if (query.robustness != 0) robustness_ = query.robustness;
    if (query.interval_ns != 0) interval_ns_ = query.interval_ns;
    other_until_ns_ =
        now_ns + robustness_ * interval_ns_ + options_.response_ns / 2;
    general_ns_ = other_until_ns_;
  }
  State* const state = groups_.Find(query.group);
  if (state == nullptr || query.is_suppressed || is_querier(now_ns)) return;
  const uint64_t latest_ns = now_ns + last_member_time_ns();
  if (query.sources.empty()) {
    state->until_ns = std::min(state->until_ns, latest_ns);
    return;
  }
  for (auto& source : state->sources) {
    if (source.is_excluded() || !Contains(query.sources, source.address)) {
      continue;
    }
    source.until_ns = std::min(source.until_ns, latest_ns);
  }
}

template <typename P>
void GroupRouter<P>::OnRecord(uint8_t type, const Address& group,
                              const List& list, uint64_t now_ns) noexcept {
  if (type < static_cast<uint8_t>(RecordType::kIsInclude) ||
      type > static_cast<uint8_t>(RecordType::kBlock) || !net::IsGroup(group) ||
      !P::IsReported(group)) {
    return;
  }
  auto record = static_cast<RecordType>(type);
  State* state = groups_.Find(group);
  if (state == nullptr) {
    const bool is_exclude =
        record == RecordType::kIsExclude || record == RecordType::kToExclude;
    if (!is_exclude && (list.empty() || record == RecordType::kBlock)) return;
    state = groups_.Add(group);
    if (state == nullptr) {
      counts_.groups_refused.Add(1);
      return;
    }
  }
  // RFC 3376 §7.3.2: beside members that know no sources none are left out, and
  // beside those that cannot leave nobody does.
  List sources = list;
  const bool has_older =
      state->older_until_ns[1] > now_ns || state->older_until_ns[2] > now_ns;
  if (has_older && P::kNewestVersion > 1) {
    if (record == RecordType::kBlock) return;
    if (record == RecordType::kToExclude) sources = {};
    const bool cannot_leave =
        P::kLeaveVersion > 1 && state->older_until_ns[1] > now_ns;
    if (record == RecordType::kToInclude && cannot_leave) return;
  }
  if (state->is_exclude()) {
    OnExclude(*state, record, sources, now_ns);
  } else {
    OnInclude(*state, record, sources, now_ns);
  }
  // Nothing of it could be kept.
  if (state->is_empty() && !state->has_changed) groups_.Remove(*state);
}

// RFC 3376 §6.4: the tables, for INCLUDE (A).
template <typename P>
void GroupRouter<P>::OnInclude(State& state, RecordType type, const List& list,
                               uint64_t now_ns) noexcept {
  const auto listed = [&list](const auto& source) {
    return Contains(list, source.address);
  };
  switch (type) {
    case RecordType::kIsInclude:
    case RecordType::kAllow:
    case RecordType::kToInclude:
      WantAll(state, list, now_ns + membership_ns());
      if (type == RecordType::kToInclude) {
        AskForSources(
            state, [&listed](const auto& source) { return !listed(source); },
            now_ns);
      }
      break;
    case RecordType::kBlock:
      AskForSources(state, listed, now_ns);
      break;
    case RecordType::kIsExclude:
    case RecordType::kToExclude:
      state.Forget([&listed](const auto& source) { return !listed(source); });
      state.mode = FilterMode::kExclude;
      state.has_changed = true;
      state.until_ns = now_ns + membership_ns();
      for (size_t i = 0; i < list.size(); ++i) {
        if (state.Find(list[i]) == nullptr) Count(state.Exclude(list[i]));
      }
      if (type == RecordType::kToExclude) {
        AskForSources(
            state, [](const auto& source) { return !source.is_excluded(); },
            now_ns);
      }
      break;
  }
}

// The same for EXCLUDE (X, Y).
template <typename P>
void GroupRouter<P>::OnExclude(State& state, RecordType type, const List& list,
                               uint64_t now_ns) noexcept {
  const auto listed = [&list](const auto& source) {
    return Contains(list, source.address);
  };
  switch (type) {
    case RecordType::kIsInclude:
    case RecordType::kAllow:
    case RecordType::kToInclude:
      WantAll(state, list, now_ns + membership_ns());
      if (type == RecordType::kToInclude) {
        AskForSources(
            state,
            [&listed](const auto& source) {
              return !source.is_excluded() && !listed(source);
            },
            now_ns);
        AskForGroup(state, now_ns);
      }
      break;
    case RecordType::kBlock:
      for (size_t i = 0; i < list.size(); ++i) {
        if (state.Find(list[i]) == nullptr) {
          Count(state.Want(list[i], state.until_ns));
        }
      }
      AskForSources(
          state,
          [&listed](const auto& source) {
            return !source.is_excluded() && listed(source);
          },
          now_ns);
      break;
    case RecordType::kIsExclude:
      ToExclude(state, list, now_ns + membership_ns(), now_ns);
      break;
    case RecordType::kToExclude:
      ToExclude(state, list, state.until_ns, now_ns);
      AskForSources(
          state, [](const auto& source) { return !source.is_excluded(); },
          now_ns);
      break;
  }
}

template <typename P>
void GroupRouter<P>::WantAll(State& state, const List& list,
                             uint64_t until_ns) noexcept {
  for (size_t i = 0; i < list.size(); ++i) {
    Count(state.Want(list[i], until_ns));
  }
}

template <typename P>
void GroupRouter<P>::ToExclude(State& state, const List& list,
                               uint64_t source_until_ns,
                               uint64_t now_ns) noexcept {
  state.Forget(
      [&list](const auto& source) { return !Contains(list, source.address); });
  for (size_t i = 0; i < list.size(); ++i) {
    if (state.Find(list[i]) == nullptr) {
      Count(state.Want(list[i], source_until_ns));
    }
  }
  state.until_ns = now_ns + membership_ns();
}

// RFC 3376 §6.6.3.2: their timers are lowered, and they are asked for.
template <typename P>
template <typename F>
void GroupRouter<P>::AskForSources(State& state, F wants,
                                   uint64_t now_ns) noexcept {
  if (!is_querier(now_ns)) return;
  const uint64_t latest_ns = now_ns + last_member_time_ns();
  for (auto& source : state.sources) {
    if (source.is_excluded() || !wants(source)) continue;
    // One whose time is nearly up was asked for already.
    if (source.until_ns <= latest_ns && source.queries_left != 0) continue;
    source.until_ns = std::min(source.until_ns, latest_ns);
    source.queries_left = robustness_;
    state.query_ns = now_ns;
  }
}

// RFC 3376 §6.6.3.1.
template <typename P>
void GroupRouter<P>::AskForGroup(State& state, uint64_t now_ns) noexcept {
  if (!is_querier(now_ns)) return;
  state.until_ns = std::min(state.until_ns, now_ns + last_member_time_ns());
  state.queries_left = robustness_;
  state.query_ns = now_ns;
}

template <typename P>
void GroupRouter<P>::Expire(uint64_t now_ns) noexcept {
  for (State& state : groups_.all()) {
    // Whoever has to be asked once more is asked before the time is up.
    if (state.query_ns > now_ns) state.Expire(now_ns);
  }
}

template <typename P>
std::optional<typename GroupRouter<P>::Outgoing> GroupRouter<P>::Take(
    std::span<std::byte> out, uint64_t now_ns) noexcept {
  if (next_ns_ > now_ns) return std::nullopt;
  std::optional<Outgoing> query;
  if (general_ns_ <= now_ns) query = TakeGeneral(out, now_ns);
  for (State& state : groups_.all()) {
    if (query) break;
    if (state.query_ns <= now_ns) query = TakeOf(state, out, now_ns);
  }
  Expire(now_ns);
  UpdateNext();
  return query;
}

// RFC 3376 §6.1, §8.6, §8.7.
template <typename P>
std::optional<typename GroupRouter<P>::Outgoing> GroupRouter<P>::TakeGeneral(
    std::span<std::byte> out, uint64_t now_ns) noexcept {
  robustness_ = options_.robustness;
  interval_ns_ = options_.query_interval_ns;
  uint64_t interval_ns = interval_ns_;
  if (startup_left_ > 1) interval_ns /= 4;
  if (startup_left_ != 0) --startup_left_;
  general_ns_ = now_ns + interval_ns;
  GroupMessage<Address> query{.kind = GroupMessage<Address>::Kind::kQuery,
                              .version = P::kNewestVersion};
  query.max_response_ns = options_.response_ns;
  query.robustness = options_.robustness;
  query.interval_ns = options_.query_interval_ns;
  return Outgoing{P::kAllHosts, P::WriteQuery(out, query, {})};
}

// The query of a group, or of its sources, that is due.
template <typename P>
std::optional<typename GroupRouter<P>::Outgoing> GroupRouter<P>::TakeOf(
    State& state, std::span<std::byte> out, uint64_t now_ns) noexcept {
  GroupMessage<Address> query{.kind = GroupMessage<Address>::Kind::kQuery,
                              .version = P::kNewestVersion};
  query.group = state.group;
  query.max_response_ns = options_.last_member_ns;
  query.robustness = options_.robustness;
  query.interval_ns = options_.query_interval_ns;
  if (!state.asks_group && !state.asks_sources) {
    state.asks_group = state.queries_left != 0;
    state.asks_sources = state.has_source_queries();
  }
  listed_.clear();
  if (state.asks_group) {
    state.asks_group = false;
    --state.queries_left;
    // Others need not lower their timers if somebody has answered.
    query.is_suppressed = state.until_ns > now_ns + last_member_time_ns();
  } else {
    state.asks_sources = false;
    for (auto& source : state.sources) {
      if (source.queries_left == 0) continue;
      --source.queries_left;
      listed_.push_back(source.address);
    }
  }
  if (!state.asks_sources) {
    const bool is_again = state.queries_left != 0 || state.has_source_queries();
    state.query_ns = is_again ? now_ns + options_.last_member_ns : kNever;
  }
  return Outgoing{state.group, P::WriteQuery(out, query, listed_)};
}

template <typename P>
std::optional<typename GroupRouter<P>::Forward> GroupRouter<P>::TakeChange(
    uint64_t now_ns) noexcept {
  Expire(now_ns);
  for (State& state : groups_.all()) {
    if (!state.has_changed) continue;
    state.has_changed = false;
    listed_.clear();
    for (const auto& source : state.sources) {
      if (source.is_excluded() == state.is_exclude()) {
        listed_.push_back(source.address);
      }
    }
    const Forward change{state.group, state.mode, listed_};
    if (state.is_empty()) groups_.Remove(state);
    UpdateNext();
    return change;
  }
  UpdateNext();
  return std::nullopt;
}

template <typename P>
bool GroupRouter<P>::Forwards(const Address& group,
                              const Address& source) const noexcept {
  const State* const state = groups_.Find(group);
  if (state == nullptr) return false;
  for (const auto& known : state->sources) {
    if (known.address == source) return !known.is_excluded();
  }
  return state->is_exclude();
}

template <typename P>
void GroupRouter<P>::UpdateNext() noexcept {
  next_ns_ = general_ns_;
  for (const State& state : groups_.all()) {
    if (state.has_changed) next_ns_ = 0;
    next_ns_ = std::min(next_ns_, state.next_ns());
  }
}

template class GroupRouter<Igmp>;
template class GroupRouter<Mld>;

}  // namespace weir
