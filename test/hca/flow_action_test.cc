// What rules do besides leading to a queue pair: drops, tags, counters; and how
// many of them there can be.

#include <infiniband/verbs.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/hca/verbs_rig.h"
#include "test/support/own_wire.h"

namespace weir::hca {
namespace {

using Mac = std::array<uint8_t, 6>;
constexpr Mac kMac = {2, 0, 0, 0, 0, 1};
constexpr Mac kOtherMac = {2, 0, 0, 0, 0, 2};
constexpr uint32_t kMaxFlows = 65536;

// A rule on a destination MAC with actions behind.
class Rule {
 public:
  explicit Rule(const Mac& mac = kMac, uint32_t flags = 0) {
    ibv_flow_attr attr{};
    attr.type = IBV_FLOW_ATTR_NORMAL;
    attr.port = 1;
    attr.flags = flags;
    Append(attr);
    ibv_flow_spec_eth eth{};
    std::memcpy(eth.val.dst_mac, mac.data(), mac.size());
    std::memset(eth.mask.dst_mac, 0xff, mac.size());
    With(eth, IBV_FLOW_SPEC_ETH);
  }

  Rule& Tag(uint32_t tag) {
    ibv_flow_spec_action_tag spec{};
    spec.tag_id = tag;
    return With(spec, IBV_FLOW_SPEC_ACTION_TAG);
  }
  Rule& Drop() {
    return With(ibv_flow_spec_action_drop{}, IBV_FLOW_SPEC_ACTION_DROP);
  }
  Rule& Count(ibv_counters* counters) {
    ibv_flow_spec_counter_action spec{};
    spec.counters = counters;
    return With(spec, IBV_FLOW_SPEC_ACTION_COUNT);
  }

  ibv_flow* Create(ibv_qp* qp) {
    return ibv_create_flow(qp, reinterpret_cast<ibv_flow_attr*>(bytes_.data()));
  }
  int ErrorOn(ibv_qp* qp) {
    errno = 0;
    EXPECT_EQ(Create(qp), nullptr);
    return errno;
  }

 private:
  template <typename T>
  void Append(const T& value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(value));
  }
  template <typename Spec>
  Rule& With(Spec spec, ibv_flow_spec_type type) {
    spec.type = type;
    spec.size = sizeof(spec);
    Append(spec);
    ++reinterpret_cast<ibv_flow_attr*>(bytes_.data())->num_of_specs;
    return *this;
  }

  std::vector<std::byte> bytes_;
};

// A sender and a receiver on a wire.
class FlowActionTest : public ::testing::Test {
 protected:
  FlowActionTest() : sender_({.key = KeyOf()}), receiver_({.key = KeyOf()}) {
    sender_.MoveTo(IBV_QPS_RTS);
    receiver_.MoveTo(IBV_QPS_RTS);
    for (size_t i = 0; i < 32; ++i) EXPECT_EQ(receiver_.PostReceive(i), 0);
  }
  ~FlowActionTest() override {
    for (ibv_flow* flow : flows_) EXPECT_EQ(ibv_destroy_flow(flow), 0);
  }

  static std::string KeyOf() {
    return OwnWire(
        ::testing::UnitTest::GetInstance()->current_test_info()->name());
  }

  void Add(Rule rule) {
    ibv_flow* flow = rule.Create(receiver_.qp);
    ASSERT_NE(flow, nullptr) << std::strerror(errno);
    flows_.push_back(flow);
  }

  // How many completions a frame of `bytes` to `mac` leads to.
  size_t Receive(const Mac& mac, uint32_t bytes = 60) {
    std::memset(sender_.Buffer(0).data(), 0, bytes);
    std::memcpy(sender_.Buffer(0).data(), mac.data(), mac.size());
    EXPECT_EQ(sender_.PostSend(0, bytes, IBV_SEND_SIGNALED), 0);
    EXPECT_EQ(sender_.Poll(1).size(), 1u);
    return receiver_.Poll(2).size();
  }

  ibv_counters* MakeCounters() {
    ibv_counters_init_attr init{};
    ibv_counters* counters = ibv_create_counters(receiver_.context, &init);
    EXPECT_NE(counters, nullptr);
    return counters;
  }
  int Attach(ibv_counters* counters, uint32_t index,
             ibv_counter_description what) {
    ibv_counter_attach_attr attr{};
    attr.counter_desc = what;
    attr.index = index;
    return ibv_attach_counters_point_flow(counters, &attr, nullptr);
  }
  std::vector<uint64_t> Read(ibv_counters* counters, uint32_t count) {
    std::vector<uint64_t> values(count, 99);
    EXPECT_EQ(ibv_read_counters(counters, values.data(), count, 0), 0);
    return values;
  }

  VerbsRig sender_;
  VerbsRig receiver_;
  std::vector<ibv_flow*> flows_;
};

TEST_F(FlowActionTest, DropsAndCountsItsFrames) {
  Add(Rule().Drop());
  Add(Rule(kOtherMac));
  EXPECT_EQ(Receive(kMac), 0u);
  EXPECT_EQ(Receive(kOtherMac), 1u);
  EXPECT_EQ(receiver_.Counter("rx_flow_dropped"), 1u);
  EXPECT_EQ(receiver_.Counter("rx_frames"), 2u);
  EXPECT_EQ(receiver_.Counter("unmatched"), 0u);
}

TEST_F(FlowActionTest, DropsWithoutAPostedReceive) {
  Add(Rule().Drop());
  Add(Rule(kOtherMac));
  for (int i = 0; i < 32; ++i) ASSERT_EQ(Receive(kOtherMac), 1u);
  EXPECT_EQ(Receive(kMac), 0u);
  EXPECT_EQ(receiver_.Counter("rx_flow_dropped"), 1u);
}

TEST_F(FlowActionTest, DropsOnlyWhatItTraps) {
  EXPECT_EQ(
      Rule(kMac, IBV_FLOW_ATTR_FLAGS_DONT_TRAP).Drop().ErrorOn(receiver_.qp),
      EINVAL);
}

TEST(FlowTagTest, TellsTheTagOfTheRule) {
  const std::string key = OwnWire("flow_tag");
  VerbsRig sender({.key = key});
  VerbsRig receiver({.key = key, .wc_flags = IBV_WC_EX_WITH_FLOW_TAG});
  for (VerbsRig* rig : {&sender, &receiver}) rig->MoveTo(IBV_QPS_RTS);
  ibv_flow* tagged = Rule().Tag(0xabcdef).Create(receiver.qp);
  ibv_flow* plain = Rule(kOtherMac).Create(receiver.qp);
  const auto tag_of = [&](const Mac& mac) {
    EXPECT_EQ(receiver.PostReceive(0), 0);
    std::memset(sender.Buffer(0).data(), 0, 60);
    std::memcpy(sender.Buffer(0).data(), mac.data(), mac.size());
    EXPECT_EQ(sender.PostSend(0, 60, IBV_SEND_SIGNALED), 0);
    EXPECT_EQ(sender.Poll(1).size(), 1u);
    ibv_poll_cq_attr attr{};
    int error = ENOENT;
    for (int i = 0; i < 1000 && error == ENOENT; ++i) {
      error = ibv_start_poll(receiver.cq_ex, &attr);
    }
    EXPECT_EQ(error, 0);
    if (error != 0) return ~uint32_t{0};
    const uint32_t tag = ibv_wc_read_flow_tag(receiver.cq_ex);
    ibv_end_poll(receiver.cq_ex);
    return tag;
  };
  EXPECT_EQ(tag_of(kMac), 0xabcdefu);
  EXPECT_EQ(tag_of(kOtherMac), 0u);
  EXPECT_EQ(ibv_destroy_flow(tagged), 0);
  EXPECT_EQ(ibv_destroy_flow(plain), 0);
}

TEST_F(FlowActionTest, RefusesAnEqualRuleWithAnotherTag) {
  Add(Rule().Tag(5));
  EXPECT_EQ(Rule().Tag(6).ErrorOn(receiver_.qp), EEXIST);
  Add(Rule().Tag(5));
  Add(Rule());
  EXPECT_EQ(Receive(kMac), 1u);
}

TEST_F(FlowActionTest, RefusesAnEqualRuleThatDrops) {
  Add(Rule());
  EXPECT_EQ(Rule().Drop().ErrorOn(receiver_.qp), EEXIST);
}

TEST_F(FlowActionTest, RefusesTagsOfMoreThan24Bits) {
  EXPECT_EQ(Rule().Tag(0x1000000).ErrorOn(receiver_.qp), EINVAL);
}

TEST_F(FlowActionTest, KeepsTheQueuePairWhileAFlowExists) {
  Add(Rule().Drop());
  EXPECT_EQ(ibv_destroy_qp(receiver_.qp), EBUSY);
}

TEST_F(FlowActionTest, HasNoEgressRules) {
  EXPECT_EQ(Rule(kMac, IBV_FLOW_ATTR_FLAGS_EGRESS).ErrorOn(receiver_.qp),
            EOPNOTSUPP);
  EXPECT_EQ(Rule(kMac, 1).ErrorOn(receiver_.qp), EINVAL);
}

TEST_F(FlowActionTest, CountsPacketsAndBytes) {
  ibv_counters* counters = MakeCounters();
  ASSERT_EQ(Attach(counters, 0, IBV_COUNTER_BYTES), 0);
  ASSERT_EQ(Attach(counters, 2, IBV_COUNTER_PACKETS), 0);
  Add(Rule().Count(counters));
  Add(Rule(kOtherMac));
  EXPECT_EQ(Receive(kMac, 60), 1u);
  EXPECT_EQ(Receive(kMac, 100), 1u);
  EXPECT_EQ(Receive(kOtherMac, 100), 1u);
  EXPECT_EQ(Read(counters, 3), (std::vector<uint64_t>{160, 0, 2}));
  EXPECT_EQ(ibv_destroy_counters(counters), EBUSY);
  EXPECT_EQ(ibv_destroy_flow(flows_.front()), 0);
  flows_.erase(flows_.begin());
  EXPECT_EQ(Read(counters, 3), (std::vector<uint64_t>{160, 0, 2}));
  EXPECT_EQ(ibv_destroy_counters(counters), 0);
}

TEST_F(FlowActionTest, CountsWhatItDrops) {
  ibv_counters* counters = MakeCounters();
  ASSERT_EQ(Attach(counters, 0, IBV_COUNTER_PACKETS), 0);
  Add(Rule().Drop().Count(counters));
  EXPECT_EQ(Receive(kMac), 0u);
  EXPECT_EQ(Read(counters, 1), std::vector<uint64_t>{1});
  EXPECT_EQ(ibv_destroy_flow(flows_.front()), 0);
  flows_.clear();
  EXPECT_EQ(ibv_destroy_counters(counters), 0);
}

// A frame that waits for a receive is looked at more than once.
TEST_F(FlowActionTest, CountsAFrameOnce) {
  ibv_counters* counters = MakeCounters();
  ASSERT_EQ(Attach(counters, 0, IBV_COUNTER_PACKETS), 0);
  Add(Rule().Count(counters));
  for (int i = 0; i < 32; ++i) ASSERT_EQ(Receive(kMac), 1u);
  EXPECT_EQ(Receive(kMac), 0u);
  EXPECT_EQ(Read(counters, 1), std::vector<uint64_t>{32});
  ASSERT_EQ(receiver_.PostReceive(0), 0);
  EXPECT_EQ(receiver_.Poll(1).size(), 1u);
  EXPECT_EQ(Read(counters, 1), std::vector<uint64_t>{33});
  EXPECT_EQ(ibv_destroy_flow(flows_.front()), 0);
  flows_.clear();
  EXPECT_EQ(ibv_destroy_counters(counters), 0);
}

TEST_F(FlowActionTest, AttachesCountsUpToTheLimit) {
  ibv_counters* counters = MakeCounters();
  EXPECT_EQ(Attach(counters, 64, IBV_COUNTER_PACKETS), EINVAL);
  for (uint32_t i = 0; i < 64; ++i) {
    ASSERT_EQ(Attach(counters, i, IBV_COUNTER_PACKETS), 0) << i;
  }
  EXPECT_EQ(Attach(counters, 0, IBV_COUNTER_BYTES), ENOMEM);
  uint64_t values[63];
  EXPECT_EQ(ibv_read_counters(counters, values, 63, 0), EINVAL);
  EXPECT_EQ(Read(counters, 64), std::vector<uint64_t>(64, 0));
  EXPECT_EQ(ibv_destroy_counters(counters), 0);
}

TEST_F(FlowActionTest, RefusesCountersThatCannotCount) {
  ibv_counters* empty = MakeCounters();
  EXPECT_EQ(Rule().Count(empty).ErrorOn(receiver_.qp), EINVAL);
  ibv_counters_init_attr init{};
  ibv_counters* foreign = ibv_create_counters(sender_.context, &init);
  ASSERT_EQ(Attach(foreign, 0, IBV_COUNTER_PACKETS), 0);
  EXPECT_EQ(Rule().Count(foreign).ErrorOn(receiver_.qp), EINVAL);
  EXPECT_EQ(ibv_destroy_counters(foreign), 0);
  EXPECT_EQ(ibv_destroy_counters(empty), 0);
}

TEST_F(FlowActionTest, AttachesNothingMoreOnceInUse) {
  ibv_counters* counters = MakeCounters();
  ASSERT_EQ(Attach(counters, 0, IBV_COUNTER_PACKETS), 0);
  ibv_counter_attach_attr attr{};
  Add(Rule().Count(counters));
  EXPECT_EQ(ibv_attach_counters_point_flow(counters, &attr, flows_.front()),
            EOPNOTSUPP);
  EXPECT_EQ(Attach(counters, 1, IBV_COUNTER_PACKETS), EBUSY);
  EXPECT_EQ(ibv_destroy_flow(flows_.front()), 0);
  flows_.clear();
  EXPECT_EQ(ibv_destroy_counters(counters), 0);
}

Mac NumberedMac(uint32_t number) {
  Mac mac = {2, 1};
  for (size_t i = 0; i < 4; ++i) {
    mac[2 + i] = static_cast<uint8_t>(number >> (8 * i));
  }
  return mac;
}

TEST_F(FlowActionTest, FindsOneOfAsManyRulesAsThereCanBe) {
  const auto begin = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i < kMaxFlows; ++i) {
    flows_.push_back(Rule(NumberedMac(i)).Create(receiver_.qp));
    ASSERT_NE(flows_.back(), nullptr) << i;
  }
  EXPECT_EQ(Rule().ErrorOn(receiver_.qp), ENOMEM);
  // Quadratic insertion would take minutes.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_EQ(Receive(NumberedMac(0)), 1u);
  EXPECT_EQ(Receive(NumberedMac(kMaxFlows - 1)), 1u);
  EXPECT_EQ(Receive(NumberedMac(kMaxFlows)), 0u);
  EXPECT_EQ(ibv_destroy_flow(flows_.back()), 0);
  flows_.pop_back();
  Add(Rule());
  EXPECT_EQ(Receive(kMac), 1u);
}

TEST_F(FlowActionTest, JoinsAsManyGroupsAsThereCanBe) {
  union ibv_gid gid {};
  const auto join = [&](uint32_t number) {
    const Mac mac = NumberedMac(number);
    std::memcpy(gid.raw + 10, mac.data(), mac.size());
    gid.raw[10] = 1;
    return ibv_attach_mcast(receiver_.qp, &gid, 0);
  };
  ibv_device_attr limits{};
  ASSERT_EQ(ibv_query_device(receiver_.context, &limits), 0);
  const auto most = static_cast<uint32_t>(limits.max_mcast_grp);
  for (uint32_t i = 0; i < most; ++i) ASSERT_EQ(join(i), 0) << i;
  EXPECT_EQ(join(most), ENOMEM);
  EXPECT_EQ(join(0), 0);
  EXPECT_EQ(ibv_detach_mcast(receiver_.qp, &gid, 0), 0);
  EXPECT_EQ(join(most), 0);
  for (uint32_t i = 1; i <= most; ++i) {
    ASSERT_EQ(join(i), 0);
    ASSERT_EQ(ibv_detach_mcast(receiver_.qp, &gid, 0), 0) << i;
  }
  EXPECT_EQ(ibv_detach_mcast(receiver_.qp, &gid, 0), EINVAL);
}

}  // namespace
}  // namespace weir::hca
