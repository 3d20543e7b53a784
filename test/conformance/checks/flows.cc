// Flow rules: kinds, order, copies, and what is not a rule.

#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

constexpr net::MacAddress kOtherMac{{2, 0, 0, 0, 0, 0x55}};
constexpr net::MacAddress kGroupMac{{1, 0, 0x5e, 1, 1, 1}};

Bytes FrameTo(const net::MacAddress& to) {
  return Frame().Eth(to, kTestMacA, 0x88b5).Payload(60).Build();
}

ibv_flow_spec_eth EmptyEthSpec() {
  ibv_flow_spec_eth spec{};
  spec.type = IBV_FLOW_SPEC_ETH;
  spec.size = sizeof(spec);
  return spec;
}

// Two QPs, each with receives, and the frames on their way.
struct TwoQps {
  TwoQps(Lab& lab, const std::vector<Bytes>& frames)
      : rig(lab, frames), first(rig), second(rig) {
    EXPECT_TRUE(first.ok() && second.ok());
    first.PostRecvs(0, 16);
    second.PostRecvs(16, 16);
  }
  Rig rig;
  TestQp first;
  TestQp second;
};

void TellsItsContext(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ibv_flow* const flow = qp.Take();
  ASSERT_NE(flow, nullptr);
  EXPECT_EQ(flow->context, rig.context);
}

void MayComeBeforeRtr(Lab& lab) {
  Rig rig(lab, PlainFrames(1));
  TestQp qp(rig, {.state = IBV_QPS_INIT});
  ASSERT_TRUE(qp.ok());
  qp.Take();
  ASSERT_EQ(qp.Modify(IBV_QPS_RTR), 0);
  qp.PostRecvs(0, 1);
  rig.Deliver();
  EXPECT_EQ(qp.Receive(1), PlainFrames(1));
}

void WithoutARuleNothingArrives(Lab& lab) {
  TwoQps qps(lab, {FrameTo(kOtherMac), FrameTo(kTestMacB)});
  qps.second.Take();
  qps.rig.Deliver();
  EXPECT_EQ(qps.second.Receive(1), std::vector<Bytes>{FrameTo(kTestMacB)});
  EXPECT_TRUE(qps.first.recv_cq().PollTimes(10).empty());
}

void EmptyMaskTakesAll(Lab& lab) {
  const std::vector<Bytes> frames = {FrameTo(kOtherMac), FrameTo(kGroupMac),
                                     FrameTo(kTestMacB), UdpFrame(1, 2)};
  Rig rig(lab, frames);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 4);
  qp.Take(TakeAll());
  rig.Deliver();
  EXPECT_EQ(qp.Receive(4), frames);
}

void RulesOfAQpAdd(Lab& lab) {
  const std::vector<Bytes> frames = {FrameTo(kOtherMac), FrameTo(kTestMacB)};
  Rig rig(lab, frames);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 2);
  qp.Take(TakeTo(kOtherMac));
  qp.Take(TakeTo(kTestMacB));
  rig.Deliver();
  EXPECT_EQ(qp.Receive(2), frames);
}

void SeparateTheFramesOfTwoQps(Lab& lab) {
  TwoQps qps(lab, {FrameTo(kOtherMac), FrameTo(kTestMacB)});
  qps.first.Take(TakeTo(kTestMacB));
  qps.second.Take(TakeTo(kOtherMac));
  qps.rig.Deliver();
  EXPECT_EQ(qps.first.Receive(1), std::vector<Bytes>{FrameTo(kTestMacB)});
  EXPECT_EQ(qps.second.Receive(1), std::vector<Bytes>{FrameTo(kOtherMac)});
}

void SameRuleGivesEachACopy(Lab& lab) {
  TwoQps qps(lab, PlainFrames(3));
  qps.first.Take();
  qps.second.Take();
  qps.rig.Deliver();
  EXPECT_EQ(qps.first.Receive(3), PlainFrames(3));
  EXPECT_EQ(qps.second.Receive(3), PlainFrames(3));
}

void SameRuleTwiceGivesOne(Lab& lab) {
  Rig rig(lab, PlainFrames(2));
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 4);
  qp.Take();
  qp.Take();
  rig.Deliver();
  EXPECT_EQ(qp.Receive(2), PlainFrames(2));
  EXPECT_TRUE(qp.recv_cq().PollTimes(10).empty());
}

void LowerPriorityNumberIsAskedFirst(Lab& lab) {
  TwoQps qps(lab, PlainFrames(2));
  qps.first.Take(TakeAll().Priority(1));
  qps.second.Take(TakeTo(kTestMacB).Priority(0));
  qps.rig.Deliver();
  EXPECT_EQ(qps.second.Receive(2), PlainFrames(2));
  EXPECT_TRUE(qps.first.recv_cq().PollTimes(10).empty());
}

void RestGoesToTheNextPriority(Lab& lab) {
  TwoQps qps(lab, {FrameTo(kOtherMac), FrameTo(kTestMacB)});
  qps.first.Take(TakeTo(kTestMacB).Priority(0));
  qps.second.Take(TakeAll().Priority(15));
  qps.rig.Deliver();
  EXPECT_EQ(qps.first.Receive(1), std::vector<Bytes>{FrameTo(kTestMacB)});
  EXPECT_EQ(qps.second.Receive(1), std::vector<Bytes>{FrameTo(kOtherMac)});
}

void AllDefaultTakesWhatNobodyElseDoes(Lab& lab) {
  TwoQps qps(lab, {FrameTo(kOtherMac), FrameTo(kTestMacB), FrameTo(kGroupMac)});
  qps.first.Take(FlowRequest(IBV_FLOW_ATTR_ALL_DEFAULT));
  qps.second.Take(TakeTo(kTestMacB));
  qps.rig.Deliver();
  EXPECT_EQ(qps.second.Receive(1), std::vector<Bytes>{FrameTo(kTestMacB)});
  EXPECT_EQ(qps.first.Receive(2),
            (std::vector<Bytes>{FrameTo(kOtherMac), FrameTo(kGroupMac)}));
}

void McDefaultTakesMulticastOnly(Lab& lab) {
  TwoQps qps(lab, {FrameTo(kOtherMac), FrameTo(kGroupMac), PlainFrame(60)});
  qps.first.Take(FlowRequest(IBV_FLOW_ATTR_MC_DEFAULT));
  qps.second.Take(TakeTo(kTestMacB));
  qps.rig.Deliver();
  EXPECT_EQ(qps.second.Receive(1), PlainFrames(1));
  EXPECT_EQ(qps.first.Receive(1), std::vector<Bytes>{FrameTo(kGroupMac)});
  EXPECT_TRUE(qps.first.recv_cq().PollTimes(10).empty());
}

void SnifferGetsACopy(Lab& lab) {
  TwoQps qps(lab, {FrameTo(kOtherMac), FrameTo(kTestMacB)});
  qps.first.Take(FlowRequest(IBV_FLOW_ATTR_SNIFFER));
  qps.second.Take(TakeTo(kTestMacB));
  qps.rig.Deliver();
  EXPECT_EQ(qps.second.Receive(1), std::vector<Bytes>{FrameTo(kTestMacB)});
  // Copies of what stays with the kernel may come another way.
  std::vector<Bytes> copies = qps.first.Receive(2);
  std::ranges::sort(copies);
  EXPECT_EQ(copies,
            (std::vector<Bytes>{FrameTo(kTestMacB), FrameTo(kOtherMac)}));
}

void DestroyedRuleTakesNothing(Lab& lab) {
  TwoQps qps(lab, {});
  qps.first.Take();
  lab.Inject(PlainFrame(60, 0));
  EXPECT_EQ(qps.first.Receive(1), PlainFrames(1));
  qps.first.DropFlows();
  qps.second.Take();
  lab.Inject(PlainFrame(60, 1));
  EXPECT_EQ(qps.second.Receive(1), std::vector<Bytes>{PlainFrame(60, 1)});
  EXPECT_TRUE(qps.first.recv_cq().PollTimes(10).empty());
}

void OneOfTwoSameRulesMayGo(Lab& lab) {
  Rig rig(lab, PlainFrames(1));
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 1);
  qp.Take();
  EXPECT_EQ(qp.TryFlow(TakeTo(lab.facts().arrivals_to)), 0);
  rig.Deliver();
  EXPECT_EQ(qp.Receive(1), PlainFrames(1));
}

void KeepItsQpBusy(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.Take();
  EXPECT_EQ(ibv_destroy_qp(qp.qp), EBUSY);
}

void RefusesPriorityBeyondTheLast(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(qp.TryFlow(TakeTo(kTestMacB).Priority(15)), 0);
  EXPECT_NE(qp.TryFlow(TakeTo(kTestMacB).Priority(16)), 0);
}

void RefusesPortsThatAreNotThere(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  const int ports = rig.Attributes().phys_port_cnt;
  EXPECT_EQ(qp.TryFlow(TakeTo(kTestMacB).Port(0)), EINVAL);
  EXPECT_EQ(qp.TryFlow(TakeTo(kTestMacB).Port(static_cast<uint8_t>(ports + 1))),
            EINVAL);
}

void RefusesUnknownKinds(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ibv_flow_attr attr{};
  const int unknown = 9;
  static_assert(sizeof(attr.type) == sizeof(unknown));
  std::memcpy(&attr.type, &unknown, sizeof(unknown));
  attr.size = sizeof(attr);
  attr.port = 1;
  EXPECT_EQ(ibv_create_flow(qp.qp, &attr), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

void RefusesUnknownSpecs(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ibv_flow_spec_eth spec = EmptyEthSpec();
  const int unknown = 0x99;
  static_assert(sizeof(spec.type) == sizeof(unknown));
  std::memcpy(&spec.type, &unknown, sizeof(unknown));
  EXPECT_EQ(qp.TryFlow(FlowRequest().Add(spec)), EINVAL);
}

void RefusesSpecsOfTheWrongSize(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  for (const uint16_t size : {uint16_t{0}, uint16_t{4}, uint16_t{36}}) {
    ibv_flow_spec_eth spec = EmptyEthSpec();
    spec.size = size;
    EXPECT_EQ(qp.TryFlow(FlowRequest().Add(spec)), EINVAL) << size;
  }
}

void RefusesToSteerWhatLeaves(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  EXPECT_NE(qp.TryFlow(TakeTo(kTestMacB).Flags(IBV_FLOW_ATTR_FLAGS_EGRESS)), 0);
}

void RefusesTypesThatContradict(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(qp.TryFlow(FlowRequest().Eth({.type = 0x86dd}).Ipv4()), EINVAL);
  EXPECT_EQ(qp.TryFlow(FlowRequest().Eth({.type = 0x0800}).Ipv4()), 0);
}

void SurviveAReset(Lab& lab) {
  Rig rig(lab, PlainFrames(1));
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.Take();
  ASSERT_EQ(qp.Modify(IBV_QPS_RESET), 0);
  qp.MoveTo(IBV_QPS_RTS);
  qp.PostRecvs(0, 1);
  rig.Deliver();
  EXPECT_EQ(qp.Receive(1), PlainFrames(1));
}

void AreOfAllContexts(Lab& lab) {
  Rig rig(lab, PlainFrames(2));
  Rig other(lab, PlainFrames(2));
  TestQp first(rig);
  TestQp second(other);
  ASSERT_TRUE(first.ok() && second.ok());
  first.PostRecvs(0, 2);
  second.PostRecvs(0, 2);
  first.Take();
  second.Take();
  rig.Deliver();
  EXPECT_EQ(first.Receive(2), PlainFrames(2));
  EXPECT_EQ(second.Receive(2), PlainFrames(2));
}

}  // namespace

CheckList FlowChecks() {
  static constexpr Check kChecks[] = {
      {"flows.tells_its_context", kNothing, TellsItsContext},
      {"flows.may_come_before_rtr", kInject, MayComeBeforeRtr},
      {"flows.without_a_rule_nothing_arrives", kInject,
       WithoutARuleNothingArrives},
      {"flows.empty_mask_takes_all", kInject, EmptyMaskTakesAll},
      {"flows.rules_of_a_qp_add", kInject, RulesOfAQpAdd},
      {"flows.separate_the_frames_of_two_qps", kInject,
       SeparateTheFramesOfTwoQps},
      {"flows.same_rule_gives_each_a_copy", kInject, SameRuleGivesEachACopy},
      {"flows.same_rule_twice_gives_one", kInject, SameRuleTwiceGivesOne},
      {"flows.lower_priority_number_is_asked_first", kInject,
       LowerPriorityNumberIsAskedFirst},
      {"flows.rest_goes_to_the_next_priority", kInject,
       RestGoesToTheNextPriority},
      {"flows.all_default_takes_what_nobody_else_does", kInject,
       AllDefaultTakesWhatNobodyElseDoes},
      {"flows.mc_default_takes_multicast_only", kInject,
       McDefaultTakesMulticastOnly},
      {"flows.sniffer_gets_a_copy", kInject | kSnifferCap, SnifferGetsACopy},
      {"flows.destroyed_rule_takes_nothing", kLive, DestroyedRuleTakesNothing},
      {"flows.one_of_two_same_rules_may_go", kInject, OneOfTwoSameRulesMayGo},
      {"flows.keep_their_qp_busy", kNothing, KeepItsQpBusy},
      {"flows.refuses_priority_beyond_the_last", kStrict,
       RefusesPriorityBeyondTheLast},
      {"flows.refuses_ports_that_are_not_there", kNothing,
       RefusesPortsThatAreNotThere},
      {"flows.refuses_unknown_kinds", kNothing, RefusesUnknownKinds},
      {"flows.refuses_unknown_specs", kNothing, RefusesUnknownSpecs},
      {"flows.refuses_specs_of_the_wrong_size", kNothing,
       RefusesSpecsOfTheWrongSize},
      {"flows.refuses_to_steer_what_leaves", kNothing,
       RefusesToSteerWhatLeaves},
      {"flows.refuses_types_that_contradict", kNothing,
       RefusesTypesThatContradict},
      {"flows.survive_a_reset", kInject, SurviveAReset},
      {"flows.are_of_all_contexts", kInject, AreOfAllContexts},
  };
  return kChecks;
}

}  // namespace weir::conformance
