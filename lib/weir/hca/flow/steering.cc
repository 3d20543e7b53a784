#include "weir/hca/flow/steering.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <random>
#include <utility>

#include "weir/hca/limits.h"
#include "weir/hca/rollback.h"

namespace weir::hca {
namespace {

uint64_t RandomSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

// For one more push_back, which then cannot fail.
template <typename T>
void ReserveOneMore(std::vector<T>& list) {
  if (list.size() < list.capacity()) return;
  list.reserve(std::max<size_t>(1, 2 * list.size()));
}

}  // namespace

Steering::Steering() : seed_(RandomSeed()) {}

int Steering::Check(const FlowRule& rule, const FlowAction& action,
                    bool& is_new) const {
  if (use_count_ == kMaxFlows) return ENOMEM;
  const FlowEntry* entry = FindEntry(rule);
  is_new = entry == nullptr;
  if (is_new) return 0;
  const bool same_tag = action.tag.value_or(entry->tag) == entry->tag;
  return same_tag && action.drops == entry->drops ? 0 : EEXIST;
}

FlowTable* Steering::FindTable(const FlowRule& rule) const noexcept {
  const auto table = tables_.find({PlaceOf(rule), rule.match.mask});
  return table == tables_.end() ? nullptr : table->second.get();
}

FlowEntry* Steering::FindEntry(const FlowRule& rule) const noexcept {
  const FlowTable* const table = FindTable(rule);
  return table == nullptr ? nullptr : table->Find(rule.match.value);
}

// Empty; its first entry needs no more memory. All or nothing.
FlowTable& Steering::AddTable(const FlowRule& rule) {
  const Place place = PlaceOf(rule);
  auto made = std::make_unique<FlowTable>(rule.match.mask, seed_);
  FlowTable& table = *made;
  std::vector<Level>& levels = LevelsOf(rule.kind);
  auto level = std::ranges::lower_bound(levels, place, {}, &Level::place);
  if (level != levels.end() && level->place == place) {
    ReserveOneMore(level->tables);
    tables_.emplace(TableKey{place, rule.match.mask}, std::move(made));
    level->tables.push_back(&table);
    return table;
  }
  Level fresh{.place = place, .tables = {&table}};
  const auto index = level - levels.begin();
  ReserveOneMore(levels);
  tables_.emplace(TableKey{place, rule.match.mask}, std::move(made));
  levels.insert(levels.begin() + index, std::move(fresh));
  return table;
}

void Steering::RemoveTable(const FlowRule& rule) noexcept {
  const auto table = tables_.find({PlaceOf(rule), rule.match.mask});
  std::vector<Level>& levels = LevelsOf(rule.kind);
  const auto level =
      std::ranges::lower_bound(levels, PlaceOf(rule), {}, &Level::place);
  std::erase(level->tables, table->second.get());
  if (level->tables.empty()) levels.erase(level);
  tables_.erase(table);
}

// With room for its first use. All or nothing.
FlowEntry& Steering::AddEntry(const FlowRule& rule, const FlowAction& action) {
  auto entry = std::make_unique<FlowEntry>();
  entry->sequence = next_sequence_;
  entry->tag = action.tag.value_or(0);
  entry->drops = action.drops;
  entry->rule = rule;
  ReserveOneMore(entry->destinations);
  if (action.counts != nullptr) ReserveOneMore(entry->counts);
  FlowTable* const known = FindTable(rule);
  FlowTable& table = known != nullptr ? *known : AddTable(rule);
  FlowEntry& stays = table.Insert(std::move(entry));
  ++next_sequence_;
  return stays;
}

void Steering::Add(const FlowRule& rule, const FlowAction& action,
                   QueuePair* qp, FlowUse& use) {
  std::vector<FlowUse*>& of_qp = uses_[qp];
  Rollback leave([this, &of_qp, qp] {
    if (of_qp.empty()) uses_.erase(qp);
  });
  ReserveOneMore(of_qp);
  FlowEntry* const known = FindEntry(rule);
  if (known != nullptr) {
    ReserveOneMore(known->destinations);
    if (action.counts != nullptr) ReserveOneMore(known->counts);
  }
  FlowEntry& entry = known != nullptr ? *known : AddEntry(rule, action);
  // From here on nothing fails.
  leave.Keep();
  AddDestination(entry, qp);
  if (action.counts != nullptr) entry.counts.push_back(action.counts);
  Sum(entry);
  use = {.qp = qp,
         .counts = action.counts,
         .entry = &entry,
         .position = of_qp.size()};
  of_qp.push_back(&use);
  ++use_count_;
  had_copies_ = had_copies_ || IsCopying(rule);
  FindSoleTarget();
}

void Steering::AddDestination(FlowEntry& entry, QueuePair* qp) noexcept {
  const auto known =
      std::ranges::find(entry.destinations, qp, &FlowDestination::qp);
  if (known != entry.destinations.end()) {
    ++known->uses;
  } else {
    entry.destinations.push_back({.qp = qp, .uses = 1});
  }
  most_destinations_ = std::max(most_destinations_, entry.destinations.size());
  if (IsCopying(entry.rule)) {
    ++passing_uses_;
  }
}

// What the data path sees of destinations and counts.
void Steering::Sum(FlowEntry& entry) noexcept {
  entry.is_plain =
      entry.destinations.size() == 1 && entry.counts.empty() && !entry.drops;
  entry.sole = entry.is_plain ? entry.destinations.front().qp : nullptr;
}

FlowUse* Steering::LastUseOf(const QueuePair* qp) const noexcept {
  const auto of_qp = uses_.find(qp);
  return of_qp == uses_.end() ? nullptr : of_qp->second.back();
}

std::optional<FlowRule> Steering::Remove(FlowUse& use) noexcept {
  if (use.entry == nullptr) return std::nullopt;
  const auto at_qp = uses_.find(use.qp);
  std::vector<FlowUse*>& of_qp = at_qp->second;
  of_qp[use.position] = of_qp.back();
  of_qp[use.position]->position = use.position;
  of_qp.pop_back();
  if (of_qp.empty()) uses_.erase(at_qp);

  FlowEntry& entry = *std::exchange(use.entry, nullptr);
  --use_count_;
  if (IsCopying(entry.rule)) {
    --passing_uses_;
  }
  const auto to =
      std::ranges::find(entry.destinations, use.qp, &FlowDestination::qp);
  if (--to->uses == 0) entry.destinations.erase(to);
  if (use.counts != nullptr) {
    entry.counts.erase(std::ranges::find(entry.counts, use.counts));
  }
  std::optional<FlowRule> gone;
  if (entry.destinations.empty()) {
    gone = entry.rule;
    FlowTable& table = *FindTable(*gone);
    table.Erase(&entry);
    if (table.empty()) RemoveTable(*gone);
  } else {
    Sum(entry);
  }
  FindSoleTarget();
  return gone;
}

// Without a look at frames, only the first rule of all can decide: one that
// takes everything and is older than what else has its priority.
void Steering::FindSoleTarget() noexcept {
  sole_target_ = nullptr;
  if (had_copies_ || levels_.empty()) return;
  const Level& first = levels_.front();
  const auto table = tables_.find({first.place, FlowWords{}});
  if (table == tables_.end()) return;
  const FlowEntry* taker = table->second->Find({});
  const bool is_first = first.tables.front()->oldest() >= taker->sequence;
  if (is_first && taker->tag == 0) {
    sole_target_ = taker->sole;
  }
}

void Steering::Find(std::span<const std::byte> frame, bool sniffed,
                    FlowVerdict& verdict) const noexcept {
  verdict.targets.clear();
  verdict.counted.clear();
  verdict.dropped = false;
  const auto fields = std::bit_cast<FlowWords>(ReadFlowFields(frame));
  for (const Level& level : levels_) {
    if (std::get<bool>(level.place)) {
      if (sniffed) continue;
      const FlowEntry* entry = Oldest(level, fields);
      if (entry == nullptr) continue;
      Append(*entry, verdict);
      break;
    }
    for (const FlowTable* table : level.tables) {
      const FlowEntry* entry = table->Find(fields);
      if (entry != nullptr) Append(*entry, verdict);
    }
  }
  for (const Level& level : sniffers_) {
    for (const FlowTable* table : level.tables) {
      const FlowEntry* entry = table->Find(fields);
      if (entry != nullptr) Append(*entry, verdict);
    }
  }
}

inline const FlowEntry* Steering::Oldest(const Level& level,
                                         const FlowWords& fields) noexcept {
  const FlowEntry* oldest = nullptr;
  for (const FlowTable* table : level.tables) {
    if (oldest != nullptr && table->oldest() > oldest->sequence) break;
    const FlowEntry* entry = table->Find(fields);
    if (entry == nullptr) continue;
    if (oldest == nullptr || entry->sequence < oldest->sequence) oldest = entry;
  }
  return oldest;
}

inline void Steering::Append(const FlowEntry& entry,
                             FlowVerdict& verdict) noexcept {
  if (entry.is_plain) {
    verdict.targets.push_back({.qp = entry.sole, .tag = entry.tag});
    return;
  }
  if (!entry.counts.empty()) verdict.counted.push_back(&entry);
  if (entry.drops) {
    verdict.dropped = true;
    return;
  }
  for (const FlowDestination& to : entry.destinations) {
    verdict.targets.push_back({.qp = to.qp, .tag = entry.tag});
  }
}

void Steering::Count(const FlowVerdict& verdict, uint32_t bytes) noexcept {
  for (const FlowEntry* entry : verdict.counted) {
    for (FlowCounts* counts : entry->counts) {
      counts->packets.Add(1);
      counts->bytes.Add(bytes);
    }
  }
}

void Steering::ReserveForOneMore(FlowVerdict& verdict) const {
  verdict.targets.reserve(
      std::bit_ceil(passing_uses_ + most_destinations_ + 2));
  verdict.counted.reserve(std::bit_ceil(passing_uses_ + 2));
}

}  // namespace weir::hca
