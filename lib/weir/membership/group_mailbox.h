// What goes between a control thread and a host of groups on an lcore.

#ifndef WEIR_MEMBERSHIP_GROUP_MAILBOX_H_
#define WEIR_MEMBERSHIP_GROUP_MAILBOX_H_

#include <array>
#include <cstdint>

#include "weir/base/counter.h"
#include "weir/membership/group_host.h"
#include "weir/membership/group_message.h"
#include "weir/ring/ring_bell.h"
#include "weir/ring/spsc_ring.h"

namespace weir {
namespace internal {

// `count` sources; a group of zeros: to exclude none, Refresh; to include none,
// LeaveAll.
template <typename Address>
struct GroupRequest {
  Address group;
  FilterMode mode;
  uint32_t count;
  std::array<Address, kMaxGroupSources> sources;
};

template <typename Address>
struct GroupMailbox {
  explicit GroupMailbox(uint32_t capacity) : requests(capacity) {}

  SpscRing<GroupRequest<Address>> requests;
  RingBell bell;
  // Requests that were followed, and all that came of them said at least once,
  // of LeaveAll as often as has to be.
  Counter followed;
  Counter said;
};

}  // namespace internal
}  // namespace weir

#endif  // WEIR_MEMBERSHIP_GROUP_MAILBOX_H_
