// ibv_attach_mcast as raw packet programs use it: a MAC in the last six bytes
// of the gid. Upstream drivers refuse it, so a NIC may have none of this.

#include <infiniband/verbs.h>

#include <cerrno>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

constexpr net::MacAddress kGroup{{1, 0, 0x5e, 1, 1, 1}};
constexpr net::MacAddress kOtherGroup{{1, 0, 0x5e, 1, 1, 2}};

Bytes FrameTo(const net::MacAddress& to) {
  return Frame().Eth(to, kTestMacA, 0x88b5).Payload(60).Build();
}

int Attach(TestQp& qp, const net::MacAddress& group) {
  const union ibv_gid gid = GroupGid(group);
  return ibv_attach_mcast(qp.qp, &gid, 0);
}

int Detach(TestQp& qp, const net::MacAddress& group) {
  const union ibv_gid gid = GroupGid(group);
  return ibv_detach_mcast(qp.qp, &gid, 0);
}

void TakesItsGroup(Lab& lab) {
  Rig rig(lab, {FrameTo(kOtherGroup), PlainFrame(60), FrameTo(kGroup)});
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 3);
  ASSERT_EQ(Attach(qp, kGroup), 0);
  rig.Deliver();
  EXPECT_EQ(qp.Receive(1), std::vector<Bytes>{FrameTo(kGroup)});
  EXPECT_EQ(Detach(qp, kGroup), 0);
}

void TwoQpsGetACopyEach(Lab& lab) {
  Rig rig(lab, {FrameTo(kGroup)});
  TestQp first(rig);
  TestQp second(rig);
  ASSERT_TRUE(first.ok() && second.ok());
  first.PostRecvs(0, 1);
  second.PostRecvs(1, 1);
  ASSERT_EQ(Attach(first, kGroup), 0);
  ASSERT_EQ(Attach(second, kGroup), 0);
  rig.Deliver();
  EXPECT_EQ(first.Receive(1), std::vector<Bytes>{FrameTo(kGroup)});
  EXPECT_EQ(second.Receive(1), std::vector<Bytes>{FrameTo(kGroup)});
  EXPECT_EQ(Detach(first, kGroup), 0);
  EXPECT_EQ(Detach(second, kGroup), 0);
}

void DetachedGroupIsGone(Lab& lab) {
  Rig rig(lab, {FrameTo(kGroup), FrameTo(kOtherGroup)});
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 2);
  ASSERT_EQ(Attach(qp, kGroup), 0);
  ASSERT_EQ(Attach(qp, kOtherGroup), 0);
  EXPECT_EQ(Detach(qp, kGroup), 0);
  rig.Deliver();
  EXPECT_EQ(qp.Receive(1), std::vector<Bytes>{FrameTo(kOtherGroup)});
  EXPECT_EQ(Detach(qp, kOtherGroup), 0);
}

void AttachedTwiceIsAttachedOnce(Lab& lab) {
  Rig rig(lab, {FrameTo(kGroup)});
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 2);
  ASSERT_EQ(Attach(qp, kGroup), 0);
  ASSERT_EQ(Attach(qp, kGroup), 0);
  rig.Deliver();
  EXPECT_EQ(qp.Receive(1), std::vector<Bytes>{FrameTo(kGroup)});
  EXPECT_TRUE(qp.recv_cq().PollTimes(10).empty());
  EXPECT_EQ(Detach(qp, kGroup), 0);
  EXPECT_EQ(Detach(qp, kGroup), EINVAL);
}

void WhatIsNotAttachedIsNotDetached(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(Detach(qp, kGroup), EINVAL);
}

void RefusesUnicast(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(Attach(qp, kTestMacB), EINVAL);
}

void RefusesGidsOfIpGroups(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  union ibv_gid gid = GroupGid(kGroup);
  gid.raw[0] = 0xff;
  gid.raw[1] = 0x0e;
  EXPECT_EQ(ibv_attach_mcast(qp.qp, &gid, 0), EINVAL);
}

void RefusesALid(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  const union ibv_gid gid = GroupGid(kGroup);
  EXPECT_EQ(ibv_attach_mcast(qp.qp, &gid, 1), EINVAL);
}

void KeepsItsQpBusy(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(Attach(qp, kGroup), 0);
  EXPECT_EQ(ibv_destroy_qp(qp.qp), EBUSY);
  EXPECT_EQ(Detach(qp, kGroup), 0);
}

void AddsToRules(Lab& lab) {
  const std::vector<Bytes> frames = {FrameTo(kGroup), PlainFrame(60)};
  Rig rig(lab, frames);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 2);
  ASSERT_EQ(Attach(qp, kGroup), 0);
  qp.Take();
  rig.Deliver();
  EXPECT_EQ(qp.Receive(2), frames);
  EXPECT_EQ(Detach(qp, kGroup), 0);
}

}  // namespace

CheckList MulticastChecks() {
  static constexpr Check kChecks[] = {
      {"multicast.takes_its_group", kInject | kMulticastCap, TakesItsGroup},
      {"multicast.two_qps_get_a_copy_each", kInject | kMulticastCap,
       TwoQpsGetACopyEach},
      {"multicast.detached_group_is_gone", kInject | kMulticastCap,
       DetachedGroupIsGone},
      {"multicast.attached_twice_is_attached_once",
       kInject | kMulticastCap | kStrict, AttachedTwiceIsAttachedOnce},
      {"multicast.what_is_not_attached_is_not_detached", kMulticastCap,
       WhatIsNotAttachedIsNotDetached},
      {"multicast.refuses_unicast", kMulticastCap, RefusesUnicast},
      {"multicast.refuses_gids_of_ip_groups", kMulticastCap | kStrict,
       RefusesGidsOfIpGroups},
      {"multicast.refuses_a_lid", kMulticastCap | kStrict, RefusesALid},
      {"multicast.keeps_its_qp_busy", kMulticastCap, KeepsItsQpBusy},
      {"multicast.adds_to_rules", kInject | kMulticastCap, AddsToRules},
  };
  return kChecks;
}

}  // namespace weir::conformance
