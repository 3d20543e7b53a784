// Which queue pairs get a frame: rules, their order, copies and drops.

#include <infiniband/verbs.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "test/hca/verbs_rig.h"
#include "test/support/own_wire.h"

namespace weir::hca {
namespace {

using Mac = std::array<uint8_t, 6>;
constexpr Mac kUnicast = {2, 0, 0, 0, 0, 1};
constexpr Mac kGroup = {1, 0, 0x5e, 1, 1, 1};

ibv_flow* AddRule(ibv_qp* qp, ibv_flow_attr_type type, uint16_t priority = 0,
                  const Mac* destination = nullptr) {
  struct {
    ibv_flow_attr attr;
    ibv_flow_spec_eth eth;
  } rule{};
  rule.attr.type = type;
  rule.attr.port = 1;
  rule.attr.priority = priority;
  if (type == IBV_FLOW_ATTR_NORMAL) {
    rule.attr.num_of_specs = 1;
    rule.eth.type = IBV_FLOW_SPEC_ETH;
    rule.eth.size = sizeof(rule.eth);
    if (destination != nullptr) {
      std::memcpy(rule.eth.val.dst_mac, destination->data(), 6);
      std::memset(rule.eth.mask.dst_mac, 0xff, 6);
    }
  }
  return ibv_create_flow(qp, &rule.attr);
}

// A sender, and a device with two queue pairs on one completion queue.
class SteeringTest : public ::testing::Test {
 protected:
  SteeringTest() : sender_({.key = KeyOf()}), first_({.key = KeyOf()}) {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = first_.cq;
    attr.cap = first_.cap;
    attr.qp_type = IBV_QPT_RAW_PACKET;
    second_ = ibv_create_qp(first_.pd, &attr);
    sender_.MoveTo(IBV_QPS_RTS);
    first_.MoveTo(IBV_QPS_RTS);
    ibv_qp* const first = first_.qp;
    first_.qp = second_;
    first_.MoveTo(IBV_QPS_RTS);
    Post(16);
    first_.qp = first;
    Post(16);
  }
  ~SteeringTest() override {
    for (ibv_flow* flow : flows_) EXPECT_EQ(ibv_destroy_flow(flow), 0);
    EXPECT_EQ(ibv_destroy_qp(second_), 0);
  }

  static std::string KeyOf() {
    return OwnWire(
        ::testing::UnitTest::GetInstance()->current_test_info()->name());
  }

  void Post(size_t count) {
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(first_.PostReceive(i), 0);
  }

  void Add(ibv_qp* qp, ibv_flow_attr_type type, uint16_t priority = 0,
           const Mac* destination = nullptr) {
    ibv_flow* flow = AddRule(qp, type, priority, destination);
    ASSERT_NE(flow, nullptr);
    flows_.push_back(flow);
  }

  // "1", "2", "12" or "": the queue pairs that got a frame to `destination`.
  std::string Receivers(const Mac& destination) {
    std::memset(sender_.Buffer(0).data(), 0, 60);
    std::memcpy(sender_.Buffer(0).data(), destination.data(), 6);
    EXPECT_EQ(sender_.PostSend(0, 60, IBV_SEND_SIGNALED), 0);
    EXPECT_EQ(sender_.Poll(1).size(), 1u);
    std::string receivers;
    for (const ibv_wc& wc : first_.Poll(3)) {
      receivers += wc.qp_num == first_.qp->qp_num ? "1" : "2";
    }
    return receivers;
  }

  VerbsRig sender_;
  VerbsRig first_;
  ibv_qp* second_ = nullptr;
  std::vector<ibv_flow*> flows_;
};

TEST_F(SteeringTest, DropsAndCountsWhatNoRuleMatches) {
  EXPECT_EQ(Receivers(kUnicast), "");
  EXPECT_EQ(first_.Counter("unmatched"), 1u);
  EXPECT_EQ(first_.Counter("rx_frames"), 1u);
}

TEST_F(SteeringTest, SeparatesQueuePairsByAddress) {
  Add(first_.qp, IBV_FLOW_ATTR_NORMAL, 0, &kUnicast);
  Add(second_, IBV_FLOW_ATTR_NORMAL, 0, &kGroup);
  EXPECT_EQ(Receivers(kUnicast), "1");
  EXPECT_EQ(Receivers(kGroup), "2");
}

TEST_F(SteeringTest, CopiesToAllQueuePairsWithTheSameRule) {
  Add(first_.qp, IBV_FLOW_ATTR_NORMAL, 0, &kUnicast);
  Add(second_, IBV_FLOW_ATTR_NORMAL, 0, &kUnicast);
  EXPECT_EQ(Receivers(kUnicast), "12");
  EXPECT_EQ(first_.Counter("rx_delivered"), 1u);
}

TEST_F(SteeringTest, AsksTheLowerPriorityNumberFirst) {
  Add(first_.qp, IBV_FLOW_ATTR_NORMAL, 1, &kUnicast);
  Add(second_, IBV_FLOW_ATTR_NORMAL, 0);
  EXPECT_EQ(Receivers(kUnicast), "2");
}

TEST_F(SteeringTest, AsksTheOlderFirstAtEqualPriority) {
  Add(first_.qp, IBV_FLOW_ATTR_NORMAL, 1, &kUnicast);
  Add(second_, IBV_FLOW_ATTR_NORMAL, 1);
  EXPECT_EQ(Receivers(kUnicast), "1");
  EXPECT_EQ(Receivers(kGroup), "2");
}

TEST_F(SteeringTest, GoesOnBehindARuleThatDoesNotTrap) {
  ibv_flow_attr copy{};
  copy.type = IBV_FLOW_ATTR_NORMAL;
  copy.port = 1;
  copy.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
  ibv_flow* flow = ibv_create_flow(first_.qp, &copy);
  ASSERT_NE(flow, nullptr);
  flows_.push_back(flow);
  EXPECT_EQ(Receivers(kGroup), "1");
  Add(second_, IBV_FLOW_ATTR_NORMAL, 0, &kUnicast);
  EXPECT_EQ(Receivers(kUnicast), "12");
  EXPECT_EQ(first_.Counter("rx_delivered"), 2u);
}

// Both rules of the queue pair give it a copy, so it takes two receives.
TEST_F(SteeringTest, HoldsAFrameUntilThereIsRoomForAllItsCopies) {
  Add(first_.qp, IBV_FLOW_ATTR_NORMAL);
  Add(first_.qp, IBV_FLOW_ATTR_SNIFFER);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(Receivers(kUnicast), "11");
  ASSERT_EQ(first_.PostReceive(0), 0);
  EXPECT_EQ(Receivers(kUnicast), "11");
  EXPECT_EQ(Receivers(kUnicast), "");
  ASSERT_EQ(first_.PostReceive(0), 0);
  EXPECT_EQ(first_.Poll(2).size(), 2u);
  EXPECT_EQ(first_.Counter("out_of_buffer"), 0u);
}

TEST_F(SteeringTest, GivesDefaultsWhatIsLeft) {
  Add(first_.qp, IBV_FLOW_ATTR_ALL_DEFAULT);
  Add(second_, IBV_FLOW_ATTR_NORMAL, 5, &kUnicast);
  EXPECT_EQ(Receivers(kUnicast), "2");
  EXPECT_EQ(Receivers(kGroup), "1");
}

TEST_F(SteeringTest, GivesMulticastDefaultOnlyGroups) {
  Add(first_.qp, IBV_FLOW_ATTR_MC_DEFAULT);
  EXPECT_EQ(Receivers(kUnicast), "");
  EXPECT_EQ(Receivers(kGroup), "1");
}

TEST_F(SteeringTest, GivesSniffersACopy) {
  Add(first_.qp, IBV_FLOW_ATTR_NORMAL);
  Add(second_, IBV_FLOW_ATTR_SNIFFER);
  EXPECT_EQ(Receivers(kUnicast), "12");
}

TEST_F(SteeringTest, StopsWhenTheRuleIsDestroyed) {
  ibv_flow* flow = AddRule(first_.qp, IBV_FLOW_ATTR_NORMAL);
  ASSERT_NE(flow, nullptr);
  EXPECT_EQ(Receivers(kUnicast), "1");
  EXPECT_EQ(ibv_destroy_flow(flow), 0);
  EXPECT_EQ(Receivers(kUnicast), "");
}

TEST_F(SteeringTest, AttachesAMulticastMac) {
  union ibv_gid gid {};
  std::memcpy(gid.raw + 10, kGroup.data(), kGroup.size());
  ASSERT_EQ(ibv_attach_mcast(first_.qp, &gid, 0), 0);
  ASSERT_EQ(ibv_attach_mcast(first_.qp, &gid, 0), 0);
  EXPECT_EQ(Receivers(kGroup), "1");
  EXPECT_EQ(Receivers(kUnicast), "");
  // As often as it was attached: the kernel counts no attachments either.
  ASSERT_EQ(ibv_detach_mcast(first_.qp, &gid, 0), 0);
  EXPECT_EQ(Receivers(kGroup), "");
  EXPECT_EQ(ibv_detach_mcast(first_.qp, &gid, 0), EINVAL);
}

TEST_F(SteeringTest, AttachesNothingButMulticastMacs) {
  union ibv_gid gid {};
  std::memcpy(gid.raw + 10, kUnicast.data(), kUnicast.size());
  EXPECT_EQ(ibv_attach_mcast(first_.qp, &gid, 0), EINVAL);
  gid.raw[0] = 0xff;
  gid.raw[10] = 1;
  EXPECT_EQ(ibv_attach_mcast(first_.qp, &gid, 0), EINVAL);
}

TEST_F(SteeringTest, HoldsFramesUntilAReceiveIsPosted) {
  Add(first_.qp, IBV_FLOW_ATTR_NORMAL);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(Receivers(kUnicast), "1");
  EXPECT_EQ(Receivers(kUnicast), "");
  ASSERT_EQ(first_.PostReceive(0), 0);
  EXPECT_EQ(first_.Poll(1).size(), 1u);
  EXPECT_EQ(first_.Counter("out_of_buffer"), 0u);
}

TEST_F(SteeringTest, RefusesBadRules) {
  EXPECT_EQ(AddRule(first_.qp, IBV_FLOW_ATTR_NORMAL, 16), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(AddRule(first_.qp, static_cast<ibv_flow_attr_type>(9)), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST(SteeringDropTest, DropsWithoutFlowControl) {
  VerbsRig sender({.key = OwnWire("lossy") + ",flow_control=off"});
  VerbsRig receiver({.key = OwnWire("lossy") + ",flow_control=off"});
  for (VerbsRig* rig : {&sender, &receiver}) rig->MoveTo(IBV_QPS_RTS);
  receiver.TakeEverything();
  ASSERT_EQ(receiver.PostReceive(0), 0);
  for (size_t i = 0; i < 3; ++i) ASSERT_EQ(sender.PostSend(i, 60, 0), 0);
  EXPECT_EQ(receiver.Poll(3).size(), 1u);
  EXPECT_EQ(receiver.Counter("out_of_buffer"), 2u);
  EXPECT_EQ(receiver.Counter("rx_frames"), 3u);
}

}  // namespace
}  // namespace weir::hca
