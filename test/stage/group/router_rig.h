// Parse and a router of groups between plain memory; its queries apart from
// what goes on.

#ifndef TEST_STAGE_GROUP_ROUTER_RIG_H_
#define TEST_STAGE_GROUP_ROUTER_RIG_H_

#include <poll.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "test/stage/group/group_rig.h"
#include "weir/net/ip_text.h"
#include "weir/stage/group/membership_router.h"

namespace weir::testing {

template <typename P>
class RouterRig : public GroupRig<MembershipRouter<P>> {
  using Base = GroupRig<MembershipRouter<P>>;

 public:
  using Address = typename P::Address;

  explicit RouterRig(
      const MembershipRouterOptions<P>& options = DefaultOptions(),
      uint32_t mbufs = 512)
      : RouterRig(*MembershipRouter<P>::Create(options), mbufs) {}

  // With the times of a link on which members are asked ten times a second.
  static MembershipRouterOptions<P> DefaultOptions() {
    MembershipRouterOptions<P> options;
    options.sender.mac = kTestMacB;
    options.router.last_member_ns = 100'000'000;
    if constexpr (std::is_same_v<P, Igmp>) {
      options.sender.address = Base::Of("192.0.2.9");
    } else {
      options.sender.address = Base::Of("fe80::9");
    }
    return options;
  }

  // What it told, "233.252.0.5 all but {}" or "233.252.0.5 only {192.0.2.7}".
  std::vector<std::string> Told() {
    std::vector<std::string> told;
    changes.TakeAll([&told](const GroupChange<Address>& change) {
      std::vector<std::string> sources;
      for (const Address& source : change.sources()) {
        sources.push_back(net::ToString(source));
      }
      told.push_back(
          net::ToString(change.group) +
          (change.mode == FilterMode::kExclude ? " all but {" : " only {") +
          absl::StrJoin(sources, " ") + "}");
    });
    return told;
  }
  // What it tells first within five seconds, which wakes the control thread.
  std::vector<std::string> ToldSoon() {
    this->WaitFor([this] { return is_woken(); });
    EXPECT_TRUE(is_woken());
    return Told();
  }
  bool is_woken() const {
    pollfd polled{changes.fd(), POLLIN, 0};
    return poll(&polled, 1, 0) == 1;
  }

 private:
  RouterRig(typename MembershipRouter<P>::Ends ends, uint32_t mbufs)
      : Base(std::move(ends.stage), mbufs),
        changes(std::move(ends.changes)),
        counts(std::move(ends.counts)) {}

 public:
  typename MembershipRouter<P>::Changes changes;
  std::shared_ptr<const MembershipRouterCounts> counts;
};

}  // namespace weir::testing

#endif  // TEST_STAGE_GROUP_ROUTER_RIG_H_
