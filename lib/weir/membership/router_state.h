// What a router keeps of one group on a link: who is listened to, until when,
// and what it has still to ask (RFC 3376 §6.2).

#ifndef WEIR_MEMBERSHIP_ROUTER_STATE_H_
#define WEIR_MEMBERSHIP_ROUTER_STATE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "weir/membership/group_message.h"

namespace weir {

// A source that has a timer, or, with the mode exclude, one without: nobody
// wants it.
template <typename Address>
struct RouterSource {
  Address address;
  // 0: no timer.
  uint64_t until_ns;
  // How often to ask who wants it.
  uint8_t queries_left;

  bool is_excluded() const noexcept { return until_ns == 0; }
};

// Never grows once Reserve was called. Owner lcore only.
template <typename Address>
struct RouterState {
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
  using Source = RouterSource<Address>;

  Address group{};
  FilterMode mode = FilterMode::kInclude;
  // Of the mode exclude: when it becomes include.
  uint64_t until_ns = 0;
  // How often to ask whether there is a member at all, and when to ask next.
  uint8_t queries_left = 0;
  uint64_t query_ns = kNever;
  // Of the queries that are due: for the group, for sources.
  bool asks_group = false;
  bool asks_sources = false;
  // Until when a member of version 1, 2 is taken to be there.
  std::array<uint64_t, 3> older_until_ns{};
  // Whether what is to be forwarded has changed since somebody looked.
  bool has_changed = false;
  std::vector<Source> sources;

  void Reserve(size_t max_sources) { sources.reserve(max_sources); }

  // As a new one; keeps its memory.
  void Begin(const Address& address) noexcept {
    group = address;
    mode = FilterMode::kInclude;
    until_ns = 0;
    queries_left = 0;
    query_ns = kNever;
    asks_group = false;
    asks_sources = false;
    older_until_ns.fill(0);
    has_changed = false;
    sources.clear();
  }

  bool is_exclude() const noexcept { return mode == FilterMode::kExclude; }
  bool is_empty() const noexcept { return !is_exclude() && sources.empty(); }

  Source* Find(const Address& address) noexcept {
    const auto found = std::find_if(
        sources.begin(), sources.end(),
        [&address](const Source& source) { return source.address == address; });
    return found == sources.end() ? nullptr : &*found;
  }

  // Wants `address` until then. False if there is no room to remember it.
  bool Want(const Address& address, uint64_t until) noexcept {
    if (Source* const known = Find(address)) {
      has_changed |= known->is_excluded();
      known->until_ns = until;
      known->queries_left = 0;
      return true;
    }
    if (sources.size() == sources.capacity()) return false;
    sources.push_back({address, until, 0});
    // With the mode exclude it was forwarded before.
    has_changed |= !is_exclude();
    return true;
  }

  // Of the mode exclude: nobody wants `address`, of which nothing is known.
  // False as above: it is forwarded then.
  bool Exclude(const Address& address) noexcept {
    if (sources.size() == sources.capacity()) return false;
    sources.push_back({address, 0, 0});
    has_changed = true;
    return true;
  }

  // Forgets sources that `is_gone` says so of.
  template <typename F>
  void Forget(F is_gone) noexcept {
    std::erase_if(sources, [this, &is_gone](const Source& source) {
      if (!is_gone(source)) return false;
      has_changed |= !is_exclude() || source.is_excluded();
      return true;
    });
  }

  // Whether a source has still to be asked for.
  bool has_source_queries() const noexcept {
    return std::any_of(
        sources.begin(), sources.end(),
        [](const Source& source) { return source.queries_left != 0; });
  }

  // Lets timers run out (RFC 3376 §6.3, §6.5).
  void Expire(uint64_t now_ns) noexcept {
    const auto is_over = [now_ns](const Source& source) {
      return !source.is_excluded() && source.until_ns <= now_ns;
    };
    if (!is_exclude()) {
      Forget(is_over);
      return;
    }
    for (Source& source : sources) {
      if (!is_over(source)) continue;
      source.until_ns = 0;
      source.queries_left = 0;
      has_changed = true;
    }
    if (until_ns > now_ns) return;
    std::erase_if(sources,
                  [](const Source& source) { return source.is_excluded(); });
    mode = FilterMode::kInclude;
    queries_left = 0;
    has_changed = true;
  }

  // When the next timer runs out, or a query is due.
  uint64_t next_ns() const noexcept {
    uint64_t next = std::min(query_ns, is_exclude() ? until_ns : kNever);
    for (const Source& source : sources) {
      if (!source.is_excluded()) next = std::min(next, source.until_ns);
    }
    return next;
  }
};

}  // namespace weir

#endif  // WEIR_MEMBERSHIP_ROUTER_STATE_H_
