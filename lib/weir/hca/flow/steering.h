// Which queue pairs a frame goes to: the flow rules of a port in the order in
// which they are asked.

#ifndef WEIR_HCA_FLOW_STEERING_H_
#define WEIR_HCA_FLOW_STEERING_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "weir/hca/flow/flow_rule.h"
#include "weir/hca/flow/flow_table.h"

namespace weir::hca {

class QueuePair;

// What a flow or a multicast attachment holds on to while its rule is in
// effect. Stays where it is in memory.
struct FlowUse {
  QueuePair* qp = nullptr;
  FlowCounts* counts = nullptr;
  // Null once the rule is in effect no more.
  FlowEntry* entry = nullptr;
  // Among the uses of the queue pair.
  size_t position = 0;
};

// A copy of a frame for a queue pair, with the tag of the rule.
struct FlowTarget {
  QueuePair* qp;
  uint32_t tag;
};

// What the rules say about a frame.
struct FlowVerdict {
  std::vector<FlowTarget> targets;
  // The rules that apply to it and are counted.
  std::vector<const FlowEntry*> counted;
  // A rule has dropped it; targets are sniffers and such.
  bool dropped = false;
};

// The rules of one port. The first rule that matches takes the frame: lower
// priority number first, at equal priority those that only copy, then the
// older one. Equal rules of several queue pairs are one rule with several
// destinations, each of which gets every frame. The port's receive lock guards
// all of it.
class Steering {
 public:
  Steering();

  // Whether a rule can be added: EEXIST if it is there with another tag, or
  // with another opinion on dropping; ENOMEM beyond kMaxFlows. `is_new` tells
  // that it is not there yet.
  int Check(const FlowRule& rule, const FlowAction& action, bool& is_new) const;

  // Adds what Check has found good, for `qp`, or nothing if memory runs out.
  // `use` has to be unused.
  void Add(const FlowRule& rule, const FlowAction& action, QueuePair* qp,
           FlowUse& use);

  // Takes back an Add; returns the rule if this was its last use. Nothing
  // happens to a use that is none any more.
  std::optional<FlowRule> Remove(FlowUse& use) noexcept;

  // Some rule that leads to `qp`, null if none does.
  FlowUse* LastUseOf(const QueuePair* qp) const noexcept;

  // Replaces `verdict` by that on `frame`: no targets if no rule matches.
  // `sniffed`: the frame is a copy of one that no rule takes, for those that
  // only copy.
  void Find(std::span<const std::byte> frame, bool sniffed,
            FlowVerdict& verdict) const noexcept;

  // Counts a frame of `bytes` for the rules of a verdict on it.
  static void Count(const FlowVerdict& verdict, uint32_t bytes) noexcept;

  // As large as any verdict can be after one more Add; keeps Find from
  // allocating.
  void ReserveForOneMore(FlowVerdict& verdict) const;

  // The queue pair that every frame goes to without a look at it, else null.
  // Always null once there was a rule that only copies: sniffed frames for it
  // may be on their way.
  QueuePair* sole_target() const noexcept { return sole_target_; }

 private:
  using Place = std::tuple<FlowKind, uint16_t, bool>;
  using TableKey = std::pair<Place, FlowWords>;
  // The tables of one kind and priority, the oldest first.
  struct Level {
    Place place;
    std::vector<const FlowTable*> tables;
  };

  // Whether the frames of `rule` go on.
  static bool IsCopying(const FlowRule& rule) {
    return rule.kind == FlowKind::kSniffer || !rule.traps;
  }
  static Place PlaceOf(const FlowRule& rule) {
    return {rule.kind, rule.priority, rule.traps};
  }
  static const FlowEntry* Oldest(const Level& level,
                                 const FlowWords& fields) noexcept;
  static void Append(const FlowEntry& entry, FlowVerdict& verdict) noexcept;

  std::vector<Level>& LevelsOf(FlowKind kind) {
    return kind == FlowKind::kSniffer ? sniffers_ : levels_;
  }
  FlowEntry& AddEntry(const FlowRule& rule, const FlowAction& action);
  FlowTable& AddTable(const FlowRule& rule);
  void RemoveTable(const FlowRule& rule) noexcept;
  FlowTable* FindTable(const FlowRule& rule) const noexcept;
  FlowEntry* FindEntry(const FlowRule& rule) const noexcept;
  void AddDestination(FlowEntry& entry, QueuePair* qp) noexcept;
  void FindSoleTarget() noexcept;
  static void Sum(FlowEntry& entry) noexcept;

  // In the order in which they are asked.
  std::vector<Level> levels_;
  std::vector<Level> sniffers_;
  // Set-up only below.
  QueuePair* sole_target_ = nullptr;
  bool had_copies_ = false;
  uint64_t seed_;
  uint64_t next_sequence_ = 0;
  size_t use_count_ = 0;
  // Uses whose frames go on, and the most that one rule has: together no frame
  // gets more copies.
  size_t passing_uses_ = 0;
  size_t most_destinations_ = 0;
  std::map<TableKey, std::unique_ptr<FlowTable>> tables_;
  std::unordered_map<const QueuePair*, std::vector<FlowUse*>> uses_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_FLOW_STEERING_H_
