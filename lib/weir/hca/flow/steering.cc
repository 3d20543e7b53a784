#include "weir/hca/flow/steering.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <random>
#include <utility>

#include "weir/hca/limits.h"

namespace weir::hca {
namespace {

uint64_t RandomSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
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

FlowEntry* Steering::FindEntry(const FlowRule& rule) const {
  const auto table = tables_.find({PlaceOf(rule), rule.match.mask});
  if (table == tables_.end()) return nullptr;
  return table->second->Find(rule.match.value);
}

FlowTable& Steering::TableFor(const FlowRule& rule) {
  const Place place = PlaceOf(rule);
  std::unique_ptr<FlowTable>& table = tables_[{place, rule.match.mask}];
  if (table != nullptr) return *table;
  table = std::make_unique<FlowTable>(rule.match.mask, seed_);
  std::vector<Level>& levels = LevelsOf(rule.kind);
  auto level = std::ranges::lower_bound(levels, place, {}, &Level::place);
  if (level == levels.end() || level->place != place) {
    level = levels.insert(level, Level{.place = place, .tables = {}});
  }
  level->tables.push_back(table.get());
  return *table;
}

void Steering::RemoveTable(const FlowRule& rule) {
  const auto table = tables_.find({PlaceOf(rule), rule.match.mask});
  std::vector<Level>& levels = LevelsOf(rule.kind);
  const auto level =
      std::ranges::lower_bound(levels, PlaceOf(rule), {}, &Level::place);
  std::erase(level->tables, table->second.get());
  if (level->tables.empty()) levels.erase(level);
  tables_.erase(table);
}

void Steering::Add(const FlowRule& rule, const FlowAction& action,
                   QueuePair* qp, FlowUse& use) {
  FlowEntry* entry = FindEntry(rule);
  if (entry == nullptr) {
    entry = TableFor(rule).Insert(rule, next_sequence_++);
    entry->tag = action.tag.value_or(0);
    entry->drops = action.drops;
  }
  AddDestination(*entry, qp);
  if (action.counts != nullptr) entry->counts.push_back(action.counts);
  Sum(*entry);
  std::vector<FlowUse*>& of_qp = uses_[qp];
  use = {.qp = qp,
         .counts = action.counts,
         .entry = entry,
         .position = of_qp.size()};
  of_qp.push_back(&use);
  ++use_count_;
  had_copies_ = had_copies_ || IsCopying(rule);
  FindSoleTarget();
}

void Steering::AddDestination(FlowEntry& entry, QueuePair* qp) {
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
void Steering::Sum(FlowEntry& entry) {
  entry.is_plain =
      entry.destinations.size() == 1 && entry.counts.empty() && !entry.drops;
  entry.sole = entry.is_plain ? entry.destinations.front().qp : nullptr;
}

std::optional<FlowRule> Steering::Remove(FlowUse& use) {
  if (use.entry == nullptr) return std::nullopt;
  std::vector<FlowUse*>& of_qp = uses_[use.qp];
  of_qp[use.position] = of_qp.back();
  of_qp[use.position]->position = use.position;
  of_qp.pop_back();
  if (of_qp.empty()) uses_.erase(use.qp);
  return Detach(use);
}

std::vector<FlowRule> Steering::RemoveAll(const QueuePair* qp) {
  std::vector<FlowRule> gone;
  const auto of_qp = uses_.find(qp);
  if (of_qp == uses_.end()) return gone;
  for (FlowUse* use : of_qp->second) {
    if (const auto rule = Detach(*use); rule.has_value()) gone.push_back(*rule);
  }
  uses_.erase(of_qp);
  return gone;
}

// Takes `use` out of its rule, and the rule out if it was the last use.
std::optional<FlowRule> Steering::Detach(FlowUse& use) {
  FlowEntry& entry = *std::exchange(use.entry, nullptr);
  --use_count_;
  if (IsCopying(entry.rule)) {
    --passing_uses_;
  }
  const auto at =
      std::ranges::find(entry.destinations, use.qp, &FlowDestination::qp);
  if (--at->uses == 0) entry.destinations.erase(at);
  if (use.counts != nullptr) {
    entry.counts.erase(std::ranges::find(entry.counts, use.counts));
  }
  std::optional<FlowRule> gone;
  if (entry.destinations.empty()) {
    gone = entry.rule;
    FlowTable& table = TableFor(*gone);
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
void Steering::FindSoleTarget() {
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

void Steering::Reserve(FlowVerdict& verdict) const {
  verdict.targets.reserve(std::bit_ceil(passing_uses_ + most_destinations_));
  verdict.counted.reserve(std::bit_ceil(passing_uses_ + 1));
}

}  // namespace weir::hca
