// Which queue pairs a frame goes to: the flow rules of a port in the order in
// which they are asked.

#ifndef WEIR_HCA_STEERING_H_
#define WEIR_HCA_STEERING_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weir/hca/flow_rule.h"

namespace weir::hca {

class QueuePair;

// The rules of one port. The first rule that matches takes the frame: lower
// priority number first, then the older one. Equal rules of several queue pairs
// are one rule with several destinations, each of which gets every frame. The
// port's receive lock guards all of it.
class Steering {
 public:
  // Adds a rule. One that the queue pair has already is counted.
  void Add(const FlowRule& rule, QueuePair* qp);

  // Takes back one Add. False if there was none.
  bool Remove(const FlowRule& rule, QueuePair* qp);

  // Takes back all rules of `qp`.
  void RemoveAll(const QueuePair* qp);

  // True if a rule leads to `qp`.
  bool LeadsTo(const QueuePair* qp) const;

  // Replaces `targets` by where `frame` goes: nothing if no rule matches.
  void Find(std::span<const std::byte> frame,
            std::vector<QueuePair*>& targets) const;

  // The queue pair that every frame goes to without a look at it, else null.
  QueuePair* sole_target() const noexcept { return sole_target_; }

 private:
  struct Destination {
    QueuePair* qp;
    size_t count;
  };
  struct Group {
    FlowRule rule;
    std::vector<Destination> destinations;
  };

  void Changed();

  std::vector<Group> groups_;
  QueuePair* sole_target_ = nullptr;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_STEERING_H_
