// Flow rules against frames, a kind of spec at a time.

#include "weir/hca/flow/flow_spec.h"

#include <infiniband/verbs.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/frame.h"

namespace weir::hca {
namespace {

uint16_t Be16Of(uint16_t value) {
  return static_cast<uint16_t>((value << 8) | (value >> 8));
}

// A rule in memory as programs lay it out: the header, then the specs.
class Rule {
 public:
  Rule() {
    ibv_flow_attr attr{};
    attr.type = IBV_FLOW_ATTR_NORMAL;
    attr.port = 1;
    bytes_.resize(sizeof(attr));
    std::memcpy(bytes_.data(), &attr, sizeof(attr));
  }

  template <typename Spec>
  Rule& With(Spec spec, ibv_flow_spec_type type, size_t size = sizeof(Spec)) {
    spec.type = type;
    spec.size = static_cast<uint16_t>(size);
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof(Spec));
    std::memcpy(bytes_.data() + at, &spec, sizeof(Spec));
    ++attr().num_of_specs;
    return *this;
  }

  int Compile(CompiledFlow& flow) { return CompileFlow(attr(), flow); }
  int Compile() {
    CompiledFlow flow;
    return Compile(flow);
  }

  bool Matches(const Frame& frame) {
    CompiledFlow flow;
    EXPECT_EQ(Compile(flow), 0);
    const Bytes bytes = frame.Build();
    return flow.match.Matches(ReadFlowFields(bytes));
  }

 private:
  ibv_flow_attr& attr() {
    return *reinterpret_cast<ibv_flow_attr*>(bytes_.data());
  }
  std::vector<std::byte> bytes_;
};

Frame Udp4(const Ipv4Fields& fields = {}) {
  Frame frame;
  frame.Eth(kTestMacA, kTestMacB)
      .Ipv4("10.0.0.1", "10.0.0.2", fields)
      .Udp(1000, 2000)
      .Payload(30);
  return frame;
}

TEST(FlowSpecTest, TakesAllWithoutConditions) {
  CompiledFlow flow;
  ASSERT_EQ(Rule().With(ibv_flow_spec_eth{}, IBV_FLOW_SPEC_ETH).Compile(flow),
            0);
  EXPECT_TRUE(flow.match.takes_all());
  EXPECT_TRUE(flow.match.Matches(ReadFlowFields({})));
}

TEST(FlowSpecTest, ComparesMacAddressesUnderTheirMask) {
  ibv_flow_spec_eth eth{};
  std::memcpy(eth.val.dst_mac, kTestMacA.octets.data(), 6);
  std::memset(eth.mask.dst_mac, 0xff, 6);
  Rule exact;
  exact.With(eth, IBV_FLOW_SPEC_ETH);
  EXPECT_TRUE(exact.Matches(Frame().Eth(kTestMacA, kTestMacB, 0x1234)));
  EXPECT_FALSE(exact.Matches(Frame().Eth(kTestMacB, kTestMacA, 0x1234)));
  eth.mask.dst_mac[5] = 0;
  Rule masked;
  masked.With(eth, IBV_FLOW_SPEC_ETH);
  EXPECT_TRUE(masked.Matches(Frame().Eth(kTestMacB, kTestMacA, 0x1234)));
}

TEST(FlowSpecTest, LooksForTheTypeBehindTheTags) {
  ibv_flow_spec_eth eth{};
  eth.val.ether_type = Be16Of(0x0800);
  eth.mask.ether_type = 0xffff;
  Rule rule;
  rule.With(eth, IBV_FLOW_SPEC_ETH);
  EXPECT_TRUE(rule.Matches(Udp4()));
  EXPECT_TRUE(rule.Matches(
      Frame().Eth(kTestMacA, kTestMacB).Vlan(7).Ipv4("10.0.0.1", "10.0.0.2")));
  EXPECT_FALSE(
      rule.Matches(Frame().Eth(kTestMacA, kTestMacB).Ipv6("::1", "::2")));
}

TEST(FlowSpecTest, ComparesTheOuterVlan) {
  ibv_flow_spec_eth eth{};
  eth.val.vlan_tag = Be16Of(7);
  eth.mask.vlan_tag = Be16Of(0x0fff);
  Rule rule;
  rule.With(eth, IBV_FLOW_SPEC_ETH);
  const auto tagged = [](uint16_t tci) {
    return Frame().Eth(kTestMacA, kTestMacB).Vlan(tci).Payload(46);
  };
  EXPECT_TRUE(rule.Matches(tagged(7)));
  EXPECT_TRUE(rule.Matches(tagged(0xe007)));
  EXPECT_FALSE(rule.Matches(tagged(8)));
  EXPECT_FALSE(rule.Matches(Udp4()));
}

TEST(FlowSpecTest, WantsATagEvenForVlanZero) {
  ibv_flow_spec_eth eth{};
  eth.mask.vlan_tag = Be16Of(0x0fff);
  Rule rule;
  rule.With(eth, IBV_FLOW_SPEC_ETH);
  EXPECT_FALSE(rule.Matches(Udp4()));
}

TEST(FlowSpecTest, ComparesIpv4Addresses) {
  ibv_flow_spec_ipv4 ip{};
  ip.val.dst_ip = std::bit_cast<uint32_t>(std::array<uint8_t, 4>{10, 0, 0, 2});
  ip.mask.dst_ip = 0xffffffff;
  Rule rule;
  rule.With(ip, IBV_FLOW_SPEC_IPV4);
  EXPECT_TRUE(rule.Matches(Udp4()));
  EXPECT_TRUE(rule.Matches(Udp4({.options = Bytes(8)})));
  EXPECT_FALSE(rule.Matches(Frame().Ipv4("10.0.0.2", "10.0.0.1").Udp(1, 2)));
  EXPECT_FALSE(rule.Matches(Frame().Ipv6("::1", "::2").Udp(1, 2)));
}

TEST(FlowSpecTest, ComparesTheOtherFieldsOfIpv4) {
  ibv_flow_spec_ipv4_ext ip{};
  ip.val = {
      .src_ip = 0, .dst_ip = 0, .proto = 17, .tos = 0xb8, .ttl = 9, .flags = 2};
  ip.mask = {.src_ip = 0,
             .dst_ip = 0,
             .proto = 0xff,
             .tos = 0xff,
             .ttl = 0xff,
             .flags = 0xff};
  Rule rule;
  rule.With(ip, IBV_FLOW_SPEC_IPV4_EXT);
  EXPECT_TRUE(
      rule.Matches(Udp4({.tos = 0xb8, .ttl = 9, .dont_fragment = true})));
  EXPECT_FALSE(rule.Matches(Udp4({.tos = 0xb8, .ttl = 9})));
  EXPECT_FALSE(
      rule.Matches(Udp4({.tos = 0xb8, .ttl = 8, .dont_fragment = true})));
  EXPECT_FALSE(rule.Matches(Udp4({.tos = 0, .ttl = 9, .dont_fragment = true})));
}

TEST(FlowSpecTest, ComparesTheFieldsOfIpv6) {
  ibv_flow_spec_ipv6 ip{};
  ip.val.dst_ip[15] = 2;
  std::memset(ip.mask.dst_ip, 0xff, 16);
  ip.val.flow_label =
      std::bit_cast<uint32_t>(std::array<uint8_t, 4>{0, 0x01, 0x23, 0x45});
  ip.mask.flow_label =
      std::bit_cast<uint32_t>(std::array<uint8_t, 4>{0, 0x0f, 0xff, 0xff});
  ip.val.traffic_class = 0x2e;
  ip.mask.traffic_class = 0xff;
  ip.val.next_hdr = 17;
  ip.mask.next_hdr = 0xff;
  ip.val.hop_limit = 3;
  ip.mask.hop_limit = 0xff;
  Rule rule;
  rule.With(ip, IBV_FLOW_SPEC_IPV6);
  const Ipv6Fields good = {
      .traffic_class = 0x2e, .hop_limit = 3, .flow_label = 0x12345};
  EXPECT_TRUE(rule.Matches(Frame().Ipv6("::1", "::2", good).Udp(1, 2)));
  EXPECT_FALSE(rule.Matches(Frame().Ipv6("::1", "::3", good).Udp(1, 2)));
  Ipv6Fields other = good;
  other.flow_label = 0x12344;
  EXPECT_FALSE(rule.Matches(Frame().Ipv6("::1", "::2", other).Udp(1, 2)));
  other = good;
  other.traffic_class = 0x2f;
  EXPECT_FALSE(rule.Matches(Frame().Ipv6("::1", "::2", other).Udp(1, 2)));
}

TEST(FlowSpecTest, ComparesPorts) {
  ibv_flow_spec_tcp_udp udp{};
  udp.val.dst_port = Be16Of(2000);
  udp.mask.dst_port = 0xffff;
  Rule rule;
  rule.With(udp, IBV_FLOW_SPEC_UDP);
  EXPECT_TRUE(rule.Matches(Udp4()));
  EXPECT_TRUE(rule.Matches(Frame().Ipv6("::1", "::2").Udp(1, 2000)));
  EXPECT_TRUE(rule.Matches(Frame()
                               .Ipv6("::1", "::2")
                               .Ipv6Fragment({.more_fragments = true})
                               .Udp(1, 2000)));
  EXPECT_FALSE(rule.Matches(Frame().Ipv4("1.1.1.1", "2.2.2.2").Udp(1, 2001)));
  EXPECT_FALSE(rule.Matches(Frame().Ipv4("1.1.1.1", "2.2.2.2").Tcp(1, 2000)));
}

TEST(FlowSpecTest, FindsNoPortsInLaterFragments) {
  Rule rule;
  rule.With(ibv_flow_spec_tcp_udp{}, IBV_FLOW_SPEC_UDP);
  EXPECT_TRUE(rule.Matches(Udp4({.more_fragments = true})));
  EXPECT_FALSE(rule.Matches(Udp4({.fragment_offset_bytes = 8})));
}

TEST(FlowSpecTest, WantsAllSpecsOfARule) {
  ibv_flow_spec_tcp_udp udp{};
  udp.val.src_port = Be16Of(1000);
  udp.mask.src_port = 0xffff;
  ibv_flow_spec_ipv4 ip{};
  ip.val.src_ip = std::bit_cast<uint32_t>(std::array<uint8_t, 4>{10, 0, 0, 1});
  ip.mask.src_ip = 0xffffffff;
  Rule rule;
  rule.With(ip, IBV_FLOW_SPEC_IPV4).With(udp, IBV_FLOW_SPEC_UDP);
  EXPECT_TRUE(rule.Matches(Udp4()));
  EXPECT_FALSE(rule.Matches(Frame().Ipv4("10.0.0.1", "10.0.0.2").Udp(1, 2)));
  EXPECT_FALSE(rule.Matches(Frame().Ipv4("10.0.0.3", "10.0.0.2").Udp(1000, 2)));
}

TEST(FlowSpecTest, ReadsNothingBehindAShortFrame) {
  Rule rule;
  rule.With(ibv_flow_spec_tcp_udp{}, IBV_FLOW_SPEC_UDP);
  const size_t whole = Udp4().Build().size();
  for (size_t size = 0; size < whole; ++size) {
    Frame frame = Udp4();
    EXPECT_EQ(rule.Matches(frame.CutTo(size)), size >= 14 + 20 + 4) << size;
  }
}

TEST(FlowSpecTest, RefusesUnknownTypes) {
  constexpr auto kUnknown = static_cast<ibv_flow_spec_type>(0x77);
  EXPECT_EQ(Rule().With(ibv_flow_spec_eth{}, kUnknown).Compile(), EINVAL);
}

TEST(FlowSpecTest, RefusesWrongSizes) {
  EXPECT_EQ(Rule().With(ibv_flow_spec_eth{}, IBV_FLOW_SPEC_ETH, 0).Compile(),
            EINVAL);
  EXPECT_EQ(Rule().With(ibv_flow_spec_eth{}, IBV_FLOW_SPEC_IPV4).Compile(),
            EINVAL);
}

TEST(FlowSpecTest, HasNoTunnelsInnerHeadersAndHandles) {
  for (const uint32_t type : {0x34u, 0x50u, 0x51u, 0x60u, 0x120u, 0x1002u}) {
    EXPECT_EQ(
        Rule()
            .With(ibv_flow_spec_eth{}, static_cast<ibv_flow_spec_type>(type))
            .Compile(),
        EOPNOTSUPP)
        << type;
  }
}

TEST(FlowSpecTest, RefusesALayerTwice) {
  EXPECT_EQ(Rule()
                .With(ibv_flow_spec_ipv4{}, IBV_FLOW_SPEC_IPV4)
                .With(ibv_flow_spec_ipv6{}, IBV_FLOW_SPEC_IPV6)
                .Compile(),
            EINVAL);
  EXPECT_EQ(Rule()
                .With(ibv_flow_spec_tcp_udp{}, IBV_FLOW_SPEC_TCP)
                .With(ibv_flow_spec_tcp_udp{}, IBV_FLOW_SPEC_UDP)
                .Compile(),
            EINVAL);
  EXPECT_EQ(Rule()
                .With(ibv_flow_spec_eth{}, IBV_FLOW_SPEC_ETH)
                .With(ibv_flow_spec_eth{}, IBV_FLOW_SPEC_ETH)
                .Compile(),
            EINVAL);
}

// As mlx5: beside an IP spec the type is that protocol's, and looked at whole.
TEST(FlowSpecTest, RefusesATypeThatContradictsTheIpSpec) {
  const auto with_type = [](uint16_t type, uint16_t mask) {
    ibv_flow_spec_eth eth{};
    eth.val.ether_type = Be16Of(type);
    eth.mask.ether_type = mask;
    return Rule()
        .With(eth, IBV_FLOW_SPEC_ETH)
        .With(ibv_flow_spec_ipv4{}, IBV_FLOW_SPEC_IPV4)
        .Compile();
  };
  EXPECT_EQ(with_type(0x0800, 0xffff), 0);
  EXPECT_EQ(with_type(0x86dd, 0xffff), EINVAL);
  EXPECT_EQ(with_type(0x0800, 0x00ff), EINVAL);
  EXPECT_EQ(with_type(0x86dd, 0), 0);
}

TEST(FlowSpecTest, TakesTagsOf24Bits) {
  ibv_flow_spec_action_tag tag{};
  tag.tag_id = 0xffffff;
  CompiledFlow flow;
  EXPECT_EQ(Rule().With(tag, IBV_FLOW_SPEC_ACTION_TAG).Compile(flow), 0);
  EXPECT_EQ(flow.tag, 0xffffffu);
  tag.tag_id = 0x1000000;
  EXPECT_EQ(Rule().With(tag, IBV_FLOW_SPEC_ACTION_TAG).Compile(), EINVAL);
}

TEST(FlowSpecTest, TakesAnActionOnce) {
  CompiledFlow flow;
  const ibv_flow_spec_action_drop drop{};
  EXPECT_EQ(Rule().With(drop, IBV_FLOW_SPEC_ACTION_DROP).Compile(flow), 0);
  EXPECT_TRUE(flow.drops);
  EXPECT_EQ(Rule()
                .With(drop, IBV_FLOW_SPEC_ACTION_DROP)
                .With(drop, IBV_FLOW_SPEC_ACTION_DROP)
                .Compile(),
            EINVAL);
}

TEST(FlowSpecTest, CountsInAnObjectOnly) {
  ibv_flow_spec_counter_action count{};
  EXPECT_EQ(Rule().With(count, IBV_FLOW_SPEC_ACTION_COUNT).Compile(), EINVAL);
  ibv_counters counters{};
  count.counters = &counters;
  CompiledFlow flow;
  EXPECT_EQ(Rule().With(count, IBV_FLOW_SPEC_ACTION_COUNT).Compile(flow), 0);
  EXPECT_EQ(flow.counters, &counters);
}

}  // namespace
}  // namespace weir::hca
