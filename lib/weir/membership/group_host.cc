#include "weir/membership/group_host.h"

#include <algorithm>

#include "weir/membership/due_records.h"
#include "weir/membership/group_records.h"

namespace weir {

template <typename P>
GroupHost<P>::GroupHost(const GroupHostOptions& options)
    : groups_(options.max_groups,
              std::min(options.max_sources, kMaxGroupSources)),
      max_sources_(std::min(options.max_sources, kMaxGroupSources)),
      newest_(options.version == 0
                  ? P::kNewestVersion
                  : std::min(options.version, P::kNewestVersion)),
      version_(newest_),
      random_(options.seed) {}

// RFC 3376 §5.1.
template <typename P>
bool GroupHost<P>::Set(const Address& group, FilterMode mode,
                       std::span<const Address> sources,
                       uint64_t now_ns) noexcept {
  if (sources.size() > max_sources_) return false;
  UpdateVersion(now_ns);
  State* state = groups_.Find(group);
  if (state == nullptr) {
    if (mode == FilterMode::kInclude && sources.empty()) return true;
    if (groups_.is_full()) ForgetOneLeft();
    state = groups_.Add(group);
    if (state == nullptr) return false;
  }
  const bool was_member = state->is_member();
  const bool has_changed = state->Change(mode, sources, robustness_);
  hurries_ = hurries_ && !state->is_member();
  if (!P::IsReported(group)) {
    state->sends_left = 0;
    state->ForgetSources();
  } else if (speaks_newest()) {
    if (has_changed) {
      state->change_ns = now_ns;
      state->was_said = false;
    }
  } else {
    // Older versions know members only. RFC 2236 §3: who leaves says so once.
    state->ForgetSources();
    state->sends_left = was_member ? 1 : robustness_;
    if (was_member == state->is_member()) {
      state->sends_left = 0;
    } else {
      state->change_ns = now_ns;
      state->was_said = false;
    }
  }
  if (state->is_finished()) groups_.Remove(*state);
  UpdateNext();
  return true;
}

template <typename P>
void GroupHost<P>::LeaveAll(uint64_t now_ns) noexcept {
  hurries_ = true;
  // A change of version removes groups: not while they are gone through.
  UpdateVersion(now_ns);
  for (size_t i = groups_.size(); i != 0; --i) {
    const State& state = groups_.all()[i - 1];
    // Who is leaving has it to say still; older versions would forget it.
    if (!state.is_member()) continue;
    const Address group = state.group;
    Set(group, FilterMode::kInclude, {}, now_ns);
  }
  // Also of those that were being left.
  for (State& state : groups_.all()) {
    if (state.change_ns == kNever) continue;
    state.change_ns = std::min(state.change_ns, now_ns + RandomPause());
  }
  UpdateNext();
}

// Makes room: a group that nobody wants any more, best one of which that was
// said once. Routers find out by asking.
template <typename P>
void GroupHost<P>::ForgetOneLeft() noexcept {
  State* found = nullptr;
  for (State& state : groups_.all()) {
    if (state.is_member()) continue;
    found = &state;
    if (state.was_said) break;
  }
  if (found != nullptr) groups_.Remove(*found);
}

template <typename P>
void GroupHost<P>::OnMessage(const GroupMessage<Address>& message,
                             uint64_t now_ns) noexcept {
  using Kind = typename GroupMessage<Address>::Kind;
  if (message.kind == Kind::kQuery) {
    OnQuery(message, now_ns);
  } else if (message.kind == Kind::kOldReport && !speaks_newest()) {
    // Another member has said it: that is enough for the router (RFC 2236 §3).
    State* const state = groups_.Find(message.group);
    if (state != nullptr && state->is_member()) {
      state->response_ns = kNever;
      state->change_ns = kNever;
      state->sends_left = 0;
      state->due = 0;
    }
  }
  UpdateNext();
}

// RFC 3376 §5.2, RFC 2236 §3.
template <typename P>
void GroupHost<P>::OnQuery(const GroupMessage<Address>& query,
                           uint64_t now_ns) noexcept {
  HearVersion(query, now_ns);
  if (query.group == Address{}) {
    const uint64_t at_ns = now_ns + Random(query.max_response_ns);
    if (speaks_newest()) {
      // An answer that comes sooner does.
      response_ns_ = std::min(response_ns_, at_ns);
      return;
    }
    for (State& state : groups_.all()) OnGroupQuery(state, query, now_ns);
    return;
  }
  State* const state = groups_.Find(query.group);
  if (state != nullptr) OnGroupQuery(*state, query, now_ns);
}

template <typename P>
void GroupHost<P>::OnGroupQuery(State& state,
                                const GroupMessage<Address>& query,
                                uint64_t now_ns) noexcept {
  if (!P::IsReported(state.group) || !state.is_member()) return;
  const uint64_t at_ns = now_ns + Random(query.max_response_ns);
  if (!speaks_newest()) {
    // A timer that runs is left alone unless the router is in a hurry.
    const uint64_t latest_ns = now_ns + query.max_response_ns;
    if (state.response_ns == kNever || state.response_ns > latest_ns) {
      state.response_ns = at_ns;
    }
    return;
  }
  if (response_ns_ <= at_ns) return;
  const bool is_pending = state.response_ns != kNever;
  // No list is all sources: that swallows any list.
  const bool for_all =
      query.sources.empty() || (is_pending && state.queried.empty());
  if (!is_pending || for_all) state.queried.clear();
  for (size_t i = 0; !for_all && i < query.sources.size(); ++i) {
    const Address source = query.sources[i];
    if (std::find(state.queried.begin(), state.queried.end(), source) !=
        state.queried.end()) {
      continue;
    }
    if (state.queried.size() == max_sources_) {
      // More than can be kept: the state of the group answers for all.
      state.queried.clear();
      break;
    }
    state.queried.push_back(source);
  }
  state.response_ns = std::min(state.response_ns, at_ns);
}

// RFC 3376 §7.2.1.
template <typename P>
void GroupHost<P>::HearVersion(const GroupMessage<Address>& query,
                               uint64_t now_ns) noexcept {
  if (query.version == P::kNewestVersion) {
    // RFC 3376 §4.1.6; without a number the default (§8.1).
    robustness_ = query.robustness == 0 ? 2 : query.robustness;
    if (query.interval_ns != 0) interval_ns_ = query.interval_ns;
  } else {
    older_until_ns_[query.version] =
        now_ns + robustness_ * interval_ns_ + query.max_response_ns;
  }
  UpdateVersion(now_ns);
}

template <typename P>
void GroupHost<P>::UpdateVersion(uint64_t now_ns) noexcept {
  uint8_t version = newest_;
  for (uint8_t older = P::kNewestVersion - 1; older != 0; --older) {
    if (older_until_ns_[older] > now_ns) version = std::min(version, older);
  }
  if (version == version_) return;
  version_ = version;
  ForgetTimers();
}

// RFC 3376 §7.2.1: what was to be said was meant for another version.
template <typename P>
void GroupHost<P>::ForgetTimers() noexcept {
  response_ns_ = kNever;
  for (State& state : groups_.all()) {
    state.due = 0;
    state.sends_left = 0;
    state.change_ns = kNever;
    state.response_ns = kNever;
    state.ForgetSources();
  }
  RemoveFinished();
}

template <typename P>
void GroupHost<P>::Refresh(uint64_t now_ns) noexcept {
  older_until_ns_.fill(0);
  version_ = newest_;
  robustness_ = 2;
  ForgetTimers();
  for (State& state : groups_.all()) {
    if (!P::IsReported(state.group) || !state.is_member()) continue;
    // To a router that knows nothing of it: as if it came from nothing.
    if (state.mode == FilterMode::kExclude || !speaks_newest()) {
      state.sends_left = robustness_;
    } else {
      for (auto& source : state.sources) source.sends_left = robustness_;
    }
    state.change_ns = now_ns;
  }
  UpdateNext();
}

template <typename P>
uint64_t GroupHost<P>::Random(uint64_t max_ns) noexcept {
  return max_ns == 0 ? 0 : 1 + random_() % max_ns;
}

// Turns timers that have run out into what is due.
template <typename P>
void GroupHost<P>::Advance(uint64_t now_ns) noexcept {
  UpdateVersion(now_ns);
  const bool answers_all = response_ns_ <= now_ns;
  if (answers_all) response_ns_ = kNever;
  for (State& state : groups_.all()) {
    if (answers_all && state.is_member() && P::IsReported(state.group)) {
      state.due |= State::kCurrent;
      // It is what any question about the group is answered by.
      state.response_ns = kNever;
    }
    if (state.response_ns <= now_ns) {
      state.response_ns = kNever;
      state.due |= !speaks_newest()        ? State::kOldReport
                   : state.queried.empty() ? State::kCurrent
                                           : State::kCurrentOfQueried;
    }
    if (state.change_ns <= now_ns) PlanChange(state, now_ns);
  }
}

template <typename P>
void GroupHost<P>::PlanChange(State& state, uint64_t now_ns) noexcept {
  state.change_ns = kNever;
  bool is_again = false;
  if (!speaks_newest()) {
    if (state.sends_left != 0) --state.sends_left;
    if (state.is_member()) {
      state.due |= State::kOldReport;
    } else if (version_ >= P::kLeaveVersion) {
      state.due |= State::kLeave;
    }
    is_again = state.sends_left != 0;
  } else {
    const bool is_mode_change = state.sends_left != 0;
    if (is_mode_change) {
      --state.sends_left;
      state.due |= State::kModeChange;
      is_again = state.sends_left != 0;
    }
    for (auto& source : state.sources) {
      if (source.sends_left == 0) continue;
      --source.sends_left;
      is_again |= source.sends_left != 0;
      if (is_mode_change) continue;
      source.is_due = true;
      const bool is_allowed =
          source.is_listed == (state.mode == FilterMode::kInclude);
      state.due |= is_allowed ? State::kAllow : State::kBlock;
    }
    state.DropTold();
  }
  if (is_again) {
    state.change_ns = now_ns + RandomPause();
  }
}

template <typename P>
std::optional<typename GroupHost<P>::Outgoing> GroupHost<P>::TakeReport(
    std::span<std::byte> out) noexcept {
  ReportWriter<P> report(out);
  for (State& state : groups_.all()) {
    if (state.due != 0 && !DueRecords<P>(report, state).Write()) break;
  }
  if (report.empty()) return std::nullopt;
  return Outgoing{P::kReportGroup, report.Finish()};
}

template <typename P>
std::optional<typename GroupHost<P>::Outgoing> GroupHost<P>::TakeOld(
    std::span<std::byte> out) noexcept {
  for (State& state : groups_.all()) {
    if (state.due == 0) continue;
    const bool leaves = (state.due & State::kLeave) != 0;
    state.due = 0;
    state.was_said = true;
    if (leaves) {
      return Outgoing{P::kAllRouters, P::WriteLeave(out, state.group)};
    }
    return Outgoing{state.group, P::WriteOldReport(out, version_, state.group)};
  }
  return std::nullopt;
}

template <typename P>
std::optional<typename GroupHost<P>::Outgoing> GroupHost<P>::Take(
    std::span<std::byte> out, uint64_t now_ns) noexcept {
  if (next_ns_ > now_ns) return std::nullopt;
  Advance(now_ns);
  const std::optional<Outgoing> message =
      speaks_newest() ? TakeReport(out) : TakeOld(out);
  RemoveFinished();
  UpdateNext();
  return message;
}

template <typename P>
void GroupHost<P>::RemoveFinished() noexcept {
  for (size_t i = groups_.size(); i != 0; --i) {
    State& state = groups_.all()[i - 1];
    if (state.is_finished()) groups_.Remove(state);
  }
}

template <typename P>
void GroupHost<P>::UpdateNext() noexcept {
  next_ns_ = response_ns_;
  for (const State& state : groups_.all()) {
    if (state.due != 0) next_ns_ = 0;
    next_ns_ = std::min({next_ns_, state.change_ns, state.response_ns});
  }
}

template class GroupHost<Igmp>;
template class GroupHost<Mld>;

}  // namespace weir
