// Parse and a host of groups between plain memory; answers apart from what goes
// on.

#ifndef TEST_STAGE_GROUP_HOST_RIG_H_
#define TEST_STAGE_GROUP_HOST_RIG_H_

#include <cstdint>
#include <type_traits>
#include <utility>

#include "test/stage/group/group_rig.h"
#include "weir/membership/group_requests.h"
#include "weir/stage/group/membership_host.h"

namespace weir::testing {

template <typename P>
class HostRig : public GroupRig<MembershipHost<P>> {
  using Base = GroupRig<MembershipHost<P>>;

 public:
  explicit HostRig(const MembershipOptions<P>& options = DefaultOptions(),
                   uint32_t mbufs = 512)
      : HostRig(*MembershipHost<P>::Create(options), mbufs) {}

  static MembershipOptions<P> DefaultOptions() {
    MembershipOptions<P> options;
    options.sender.mac = kTestMacB;
    if constexpr (std::is_same_v<P, Igmp>) {
      options.sender.address = Base::Of("192.0.2.1");
    } else {
      options.sender.address = Base::Of("fe80::b");
    }
    return options;
  }

 private:
  HostRig(typename MembershipHost<P>::Ends ends, uint32_t mbufs)
      : Base(std::move(ends.stage), mbufs), control(std::move(ends.control)) {}

 public:
  GroupControl<P> control;
};

}  // namespace weir::testing

#endif  // TEST_STAGE_GROUP_HOST_RIG_H_
