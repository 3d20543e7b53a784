// Which queue pairs of a port are attached to which multicast MACs: the account
// behind ibv_attach_mcast.

#ifndef WEIR_HCA_FLOW_MULTICAST_GROUPS_H_
#define WEIR_HCA_FLOW_MULTICAST_GROUPS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

#include "weir/hca/flow/steering.h"

namespace weir::hca {

class QueuePair;

// An attachment is a flow rule on the MAC. The port's receive lock guards all
// of it.
class MulticastGroups {
 public:
  using Mac = std::array<uint8_t, 6>;

  // The rule of all attachments to `mac`.
  static FlowRule RuleFor(const Mac& mac);

  // What the attachment holds, null if there is none.
  FlowUse* Find(const Mac& mac, const QueuePair* qp);

  // 0, or ENOMEM if one more attachment to `mac` is beyond a limit.
  int Check(const Mac& mac) const;

  // A new attachment, or none if memory runs out; its use stays where it is.
  FlowUse& Add(const Mac& mac, const QueuePair* qp);
  // Of attachments whose uses are none any more.
  void Remove(const Mac& mac, const QueuePair* qp) noexcept;
  void RemoveAll(const QueuePair* qp) noexcept;

 private:
  using Key = std::pair<Mac, const QueuePair*>;

  std::map<Key, FlowUse> attachments_;
  // How many queue pairs each group has.
  std::map<Mac, size_t> groups_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_FLOW_MULTICAST_GROUPS_H_
