// The flow engine against a list that every frame walks: thousands of random
// rules come and go, and thousands of frames go where the list says.

#include <infiniband/verbs.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/naive_flows.h"
#include "weir/hca/flow/flow.h"
#include "weir/hca/flow/steering.h"

namespace weir::hca {
namespace {

constexpr int kQueuePairs = 4;

// Steering never looks into a queue pair.
QueuePair* Receiver(int number) {
  return std::bit_cast<QueuePair*>(uintptr_t{64} * (number + 1));
}

int NumberOf(const QueuePair* qp) {
  return static_cast<int>(std::bit_cast<uintptr_t>(qp) / 64) - 1;
}

// Rules and frames out of so few values that they meet.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  unsigned Below(unsigned bound) { return random_() % bound; }

  // An ibv_flow_attr with its specs.
  NaiveBytes Rule() {
    constexpr uint32_t kTypes[] = {0, 0, 0, 0, 0, 1, 2, 3};
    ibv_flow_attr attr{};
    attr.type = static_cast<ibv_flow_attr_type>(kTypes[Below(8)]);
    attr.port = 1;
    attr.priority = static_cast<uint16_t>(Below(3));
    const bool is_normal = attr.type == IBV_FLOW_ATTR_NORMAL;
    if (is_normal && Below(6) == 0) attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
    NaiveBytes specs;
    const unsigned layers = is_normal ? Below(8) : 0;
    attr.num_of_specs = 0;
    const auto add = [&](const auto& spec) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(&spec);
      specs.insert(specs.end(), bytes, bytes + sizeof(spec));
      ++attr.num_of_specs;
    };
    if ((layers & 1) != 0) add(Ethernet());
    if ((layers & 2) != 0) add(Ipv4());
    if ((layers & 4) != 0) add(Udp());
    if (is_normal && Below(4) == 0) {
      add(ibv_flow_spec_action_tag{.type = IBV_FLOW_SPEC_ACTION_TAG,
                                   .size = sizeof(ibv_flow_spec_action_tag),
                                   .tag_id = Below(2)});
    }
    if (is_normal && attr.flags == 0 && Below(8) == 0) {
      add(ibv_flow_spec_action_drop{.type = IBV_FLOW_SPEC_ACTION_DROP,
                                    .size = sizeof(ibv_flow_spec_action_drop)});
    }
    NaiveBytes all(sizeof(attr));
    std::memcpy(all.data(), &attr, sizeof(attr));
    all.insert(all.end(), specs.begin(), specs.end());
    return all;
  }

  NaiveBytes Frame() {
    NaiveBytes frame(60);
    frame[0] = static_cast<uint8_t>(Below(2));
    frame[5] = Octet();
    frame[11] = Octet();
    size_t type = 12;
    if (Below(4) == 0) {
      frame[type] = 0x81;
      frame[type + 3] = Octet();
      type += 4;
    }
    if (Below(5) == 0) return frame;
    frame[type] = 0x08;
    uint8_t* ip = &frame[type + 2];
    ip[0] = 0x45;
    ip[9] = Below(5) == 0 ? 6 : 17;
    ip[15] = Octet();
    ip[19] = Octet();
    if (Below(6) == 0) ip[7] = 1;
    ip[21] = Octet();
    ip[23] = Octet();
    frame.resize(60 - Below(30));
    return frame;
  }

 private:
  uint8_t Octet() { return static_cast<uint8_t>(Below(3)); }
  // Whole, without its lowest bit, or not at all.
  uint8_t Mask() {
    constexpr uint8_t kMasks[] = {0xff, 0xfe, 0};
    return kMasks[Below(3)];
  }

  ibv_flow_spec_eth Ethernet() {
    ibv_flow_spec_eth spec{};
    spec.type = IBV_FLOW_SPEC_ETH;
    spec.size = sizeof(spec);
    spec.val.dst_mac[5] = Octet();
    spec.mask.dst_mac[5] = Mask();
    spec.val.src_mac[5] = Octet();
    spec.mask.src_mac[5] = Mask();
    if (Below(4) == 0) {
      spec.val.vlan_tag = static_cast<uint16_t>(Octet() << 8);
      spec.mask.vlan_tag = static_cast<uint16_t>(Mask() << 8);
    }
    return spec;
  }

  ibv_flow_spec_ipv4 Ipv4() {
    ibv_flow_spec_ipv4 spec{};
    spec.type = IBV_FLOW_SPEC_IPV4;
    spec.size = sizeof(spec);
    spec.val.dst_ip = uint32_t{Octet()} << 24;
    spec.mask.dst_ip = uint32_t{Mask()} << 24;
    return spec;
  }

  ibv_flow_spec_tcp_udp Udp() {
    ibv_flow_spec_tcp_udp spec{};
    spec.type = Below(5) == 0 ? IBV_FLOW_SPEC_TCP : IBV_FLOW_SPEC_UDP;
    spec.size = sizeof(spec);
    spec.val.dst_port = static_cast<uint16_t>(Octet() << 8);
    spec.mask.dst_port = static_cast<uint16_t>(Mask() << 8);
    return spec;
  }

  std::mt19937 random_;
};

// The engine and the list, side by side.
class Pair {
 public:
  void Add(const NaiveBytes& bytes, int receiver) {
    NaiveRule naive;
    ASSERT_EQ(NaiveRead(bytes, naive), 0);
    FlowRequest request;
    ASSERT_EQ(
        ReadFlowAttr(*reinterpret_cast<const ibv_flow_attr*>(bytes.data()),
                     request),
        0);
    const FlowAction action{.tag = request.compiled.tag,
                            .drops = request.compiled.drops};
    const int id = next_id_++;
    bool is_new = false;
    const int error = engine_.Check(request.rule, action, is_new);
    ASSERT_EQ(error, list_.Add(naive, receiver, id));
    if (error != 0) return;
    auto use = std::make_unique<FlowUse>();
    engine_.Add(request.rule, action, Receiver(receiver), *use);
    uses_[id] = std::move(use);
  }

  void Remove(unsigned which) {
    if (uses_.empty()) return;
    const auto at = std::next(uses_.begin(), which % uses_.size());
    engine_.Remove(*at->second);
    list_.Remove(at->first);
    uses_.erase(at);
  }

  void RemoveAll(int receiver) {
    while (FlowUse* const use = engine_.LastUseOf(Receiver(receiver))) {
      engine_.Remove(*use);
    }
    std::erase_if(uses_, [&](const auto& each) {
      if (each.second->qp != Receiver(receiver)) return false;
      EXPECT_EQ(each.second->entry, nullptr);
      // As a flow that is destroyed after its context was closed.
      EXPECT_FALSE(engine_.Remove(*each.second).has_value());
      list_.Remove(each.first);
      return true;
    });
  }

  void Compare(const NaiveBytes& frame, bool sniffed) {
    engine_.Find(std::as_bytes(std::span(frame)), sniffed, verdict_);
    std::vector<NaiveSteering::Copy> copies;
    for (const FlowTarget& to : verdict_.targets) {
      copies.push_back({NumberOf(to.qp), to.tag});
    }
    std::ranges::sort(copies);
    const auto expected = list_.Find(frame, sniffed);
    ASSERT_EQ(copies, expected.copies);
    ASSERT_EQ(verdict_.dropped, expected.dropped);
    found_ += copies.empty() ? 0 : 1;
    QueuePair* sole = engine_.sole_target();
    if (sole == nullptr || sniffed) return;
    ++sole_;
    ASSERT_EQ(copies, (std::vector<NaiveSteering::Copy>{{NumberOf(sole), 0}}));
  }

  size_t size() const { return uses_.size(); }
  int found() const { return found_; }
  int sole() const { return sole_; }

 private:
  Steering engine_;
  NaiveSteering list_;
  FlowVerdict verdict_;
  std::map<int, std::unique_ptr<FlowUse>> uses_;
  int next_id_ = 0;
  int found_ = 0;
  int sole_ = 0;
};

TEST(SteeringModelTest, AgreesWithAWalkWhileRulesComeAndGo) {
  Generator generator(1);
  Pair pair;
  for (int step = 0; step < 6000; ++step) {
    // Grows to a hundred rules, then hovers.
    const bool grow = generator.Below(150) > pair.size();
    if (grow) {
      pair.Add(generator.Rule(),
               static_cast<int>(generator.Below(kQueuePairs)));
    } else {
      pair.Remove(generator.Below(1000));
    }
    if (step % 1000 == 999) {
      pair.RemoveAll(static_cast<int>(generator.Below(kQueuePairs)));
    }
    pair.Compare(generator.Frame(), generator.Below(10) == 0);
    if (HasFatalFailure()) FAIL() << "step " << step;
  }
  EXPECT_GT(pair.found(), 3000);
}

// Few rules at a time, so that one that takes everything is often the first.
TEST(SteeringModelTest, KnowsWhenOneQueuePairGetsEverything) {
  int sole = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    Generator generator(seed);
    Pair pair;
    for (int step = 0; step < 10; ++step) {
      if (generator.Below(3) == 0) pair.Remove(generator.Below(100));
      pair.Add(generator.Rule(), static_cast<int>(generator.Below(2)));
      pair.Compare(generator.Frame(), false);
      if (HasFatalFailure()) FAIL() << "seed " << seed << " step " << step;
    }
    sole += pair.sole();
  }
  EXPECT_GT(sole, 250);
}

}  // namespace
}  // namespace weir::hca
