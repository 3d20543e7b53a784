// What a flow rule does besides leading to its QP: tag, drop, count, copy.

#include <infiniband/verbs.h>

#include <cerrno>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

ibv_flow_spec_action_tag Tag(uint32_t id) {
  ibv_flow_spec_action_tag spec{};
  spec.type = IBV_FLOW_SPEC_ACTION_TAG;
  spec.size = sizeof(spec);
  spec.tag_id = id;
  return spec;
}

ibv_flow_spec_action_drop Drop() {
  ibv_flow_spec_action_drop spec{};
  spec.type = IBV_FLOW_SPEC_ACTION_DROP;
  spec.size = sizeof(spec);
  return spec;
}

// Counters of packets at 0 and bytes at 1.
class TestCounters {
 public:
  explicit TestCounters(Rig& rig) {
    ibv_counters_init_attr attr{};
    counters = ibv_create_counters(rig.context, &attr);
    EXPECT_NE(counters, nullptr);
    if (counters == nullptr) return;
    ibv_counter_attach_attr point{};
    point.counter_desc = IBV_COUNTER_PACKETS;
    EXPECT_EQ(ibv_attach_counters_point_flow(counters, &point, nullptr), 0);
    point.counter_desc = IBV_COUNTER_BYTES;
    point.index = 1;
    EXPECT_EQ(ibv_attach_counters_point_flow(counters, &point, nullptr), 0);
  }
  TestCounters(const TestCounters&) = delete;
  TestCounters& operator=(const TestCounters&) = delete;
  ~TestCounters() {
    if (counters != nullptr) {
      EXPECT_EQ(ibv_destroy_counters(counters), 0);
    }
  }

  ibv_flow_spec_counter_action Count() const {
    ibv_flow_spec_counter_action spec{};
    spec.type = IBV_FLOW_SPEC_ACTION_COUNT;
    spec.size = sizeof(spec);
    spec.counters = counters;
    return spec;
  }

  void Expect(uint64_t packets, uint64_t bytes) {
    uint64_t values[2] = {99, 99};
    EXPECT_EQ(ibv_read_counters(counters, values, 2, 0), 0);
    EXPECT_EQ(values[0], packets);
    EXPECT_EQ(values[1], bytes);
  }

  ibv_counters* counters = nullptr;
};

void DropKeepsFramesFromEverybody(Lab& lab) {
  Rig rig(lab, {UdpFrame(1, 53), UdpFrame(1, 54)});
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 2);
  qp.Take(FlowRequest().Eth().Ipv4().Udp({.to = 53}).Add(Drop()));
  qp.Take(TakeTo(kTestMacB).Priority(1));
  rig.Deliver();
  EXPECT_EQ(qp.Receive(1), std::vector<Bytes>{UdpFrame(1, 54)});
}

void DroppedRuleLetsFramesThroughAgain(Lab& lab) {
  Rig rig(lab, {UdpFrame(1, 53)});
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 1);
  EXPECT_EQ(qp.TryFlow(FlowRequest().Eth().Ipv4().Udp({.to = 53}).Add(Drop())),
            0);
  qp.Take(TakeTo(kTestMacB).Priority(1));
  rig.Deliver();
  EXPECT_EQ(qp.Receive(1), std::vector<Bytes>{UdpFrame(1, 53)});
}

void CountersCountTheirRuleOnly(Lab& lab) {
  Rig rig(lab, {UdpFrame(1, 53, 100), UdpFrame(1, 54, 50), UdpFrame(1, 53, 20),
                PlainFrame(70)});
  TestCounters counters(rig);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  counters.Expect(0, 0);
  qp.PostRecvs(0, 4);
  qp.Take(FlowRequest().Eth().Ipv4().Udp({.to = 53}).Add(counters.Count()));
  qp.Take(TakeTo(kTestMacB).Priority(1));
  rig.Deliver();
  ASSERT_EQ(qp.Receive(4).size(), 4u);
  // 14 of Ethernet, 20 of IPv4 and 8 of UDP each.
  counters.Expect(2, 142 + 62);
  qp.DropFlows();
}

void CountersInUseAreBusy(Lab& lab) {
  Rig rig(lab);
  TestCounters counters(rig);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.Take(TakeTo(kTestMacB).Add(counters.Count()));
  EXPECT_EQ(ibv_destroy_counters(counters.counters), EBUSY);
  qp.DropFlows();
}

void CountersTellWhatFits(Lab& lab) {
  Rig rig(lab);
  TestCounters counters(rig);
  ASSERT_TRUE(rig.ok());
  uint64_t value = 0;
  EXPECT_EQ(ibv_read_counters(counters.counters, &value, 1, 0), EINVAL);
}

void DontTrapGivesACopyAndGoesOn(Lab& lab) {
  Rig rig(lab, PlainFrames(2));
  TestQp first(rig);
  TestQp second(rig);
  ASSERT_TRUE(first.ok() && second.ok());
  first.PostRecvs(0, 2);
  second.PostRecvs(8, 2);
  first.Take(TakeTo(kTestMacB).Flags(IBV_FLOW_ATTR_FLAGS_DONT_TRAP));
  second.Take(TakeAll().Priority(1));
  rig.Deliver();
  EXPECT_EQ(second.Receive(2), PlainFrames(2));
  EXPECT_EQ(first.Receive(2), PlainFrames(2));
}

void DontTrapAloneGivesACopy(Lab& lab) {
  Rig rig(lab, PlainFrames(2));
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 2);
  qp.Take(TakeTo(kTestMacB).Flags(IBV_FLOW_ATTR_FLAGS_DONT_TRAP));
  rig.Deliver();
  EXPECT_EQ(qp.Receive(2), PlainFrames(2));
}

void DontTrapIsOfNormalRules(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  EXPECT_NE(qp.TryFlow(FlowRequest(IBV_FLOW_ATTR_ALL_DEFAULT)
                           .Flags(IBV_FLOW_ATTR_FLAGS_DONT_TRAP)),
            0);
}

void TagHas24Bits(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(qp.TryFlow(TakeTo(kTestMacB).Add(Tag(0xfffffe))), 0);
  EXPECT_NE(qp.TryFlow(TakeTo(kTestMacB).Add(Tag(0x1000000))), 0);
}

void TwoTagsOfOneMatchClash(Lab& lab) {
  Rig rig(lab);
  TestQp first(rig);
  TestQp second(rig);
  ASSERT_TRUE(first.ok() && second.ok());
  first.Take(TakeTo(kTestMacB).Add(Tag(1)));
  EXPECT_EQ(second.TryFlow(TakeTo(kTestMacB).Add(Tag(2))), EEXIST);
  EXPECT_EQ(second.TryFlow(TakeTo(kTestMacB).Add(Tag(1))), 0);
}

void UnknownActionsAreRefused(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ibv_flow_spec_action_drop spec = Drop();
  spec.size = 4;
  EXPECT_EQ(qp.TryFlow(TakeTo(kTestMacB).Add(spec)), EINVAL);
}

}  // namespace

CheckList FlowActionChecks() {
  static constexpr Check kChecks[] = {
      {"flow_actions.drop_keeps_frames_from_everybody", kInject | kFlowDropCap,
       DropKeepsFramesFromEverybody},
      {"flow_actions.destroyed_drop_lets_frames_through",
       kInject | kFlowDropCap, DroppedRuleLetsFramesThroughAgain},
      {"flow_actions.counters_count_their_rule_only", kInject | kFlowCountCap,
       CountersCountTheirRuleOnly},
      {"flow_actions.counters_in_use_are_busy", kFlowCountCap,
       CountersInUseAreBusy},
      {"flow_actions.counters_want_room_for_all", kFlowCountCap,
       CountersTellWhatFits},
      {"flow_actions.dont_trap_gives_a_copy_and_goes_on",
       kInject | kDontTrapCap, DontTrapGivesACopyAndGoesOn},
      {"flow_actions.dont_trap_alone_gives_a_copy", kInject | kDontTrapCap,
       DontTrapAloneGivesACopy},
      {"flow_actions.dont_trap_is_of_normal_rules", kDontTrapCap,
       DontTrapIsOfNormalRules},
      {"flow_actions.tag_has_24_bits", kFlowTagCap, TagHas24Bits},
      {"flow_actions.two_tags_of_one_match_clash", kFlowTagCap,
       TwoTagsOfOneMatchClash},
      {"flow_actions.refuses_wrong_sizes", kFlowDropCap,
       UnknownActionsAreRefused},
  };
  return kChecks;
}

}  // namespace weir::conformance
