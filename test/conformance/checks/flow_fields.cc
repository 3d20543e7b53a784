// The fields that flow rules compare. Each check lets a frame arrive that
// differs in just that field, and then one that does not.

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

constexpr net::MacAddress kOtherMac{{2, 0, 0, 0, 0, 0x55}};

// `request` takes `right` and none of `wrong`.
void ExpectTakes(Lab& lab, const FlowRequest& request, const Bytes& right,
                 std::vector<Bytes> wrong) {
  wrong.push_back(right);
  Rig rig(lab, wrong);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, wrong.size());
  qp.Take(request);
  rig.Deliver();
  EXPECT_EQ(qp.Receive(1), std::vector<Bytes>{right});
}

Frame From(const net::MacAddress& to, const net::MacAddress& from) {
  return Frame().Eth(to, from);
}
Frame Plain() { return From(kTestMacB, kTestMacA); }

Bytes TypeFrame(uint16_t type) {
  return Frame().Eth(kTestMacB, kTestMacA, type).Payload(60).Build();
}

Bytes VlanFrame(uint16_t tci) {
  return Plain()
      .Vlan(tci)
      .Ipv4("10.0.0.1", "10.0.0.2")
      .Udp(1, 2)
      .Payload(40)
      .Build();
}

Bytes Ipv4Frame(const std::string& from, const std::string& to,
                const Ipv4Fields& fields = {}) {
  return Plain().Ipv4(from, to, fields).Udp(1, 2).Payload(40).Build();
}

Bytes Ipv6Frame(const std::string& from, const std::string& to,
                const Ipv6Fields& fields = {}) {
  return Plain().Ipv6(from, to, fields).Udp(1, 2).Payload(40).Build();
}

Bytes TcpFrame(uint16_t from, uint16_t to) {
  return Plain().Ipv4("10.0.0.1", "10.0.0.2").Tcp(from, to).Payload(40).Build();
}

ibv_flow_spec_ipv4_ext Ipv4Ext() {
  ibv_flow_spec_ipv4_ext spec{};
  spec.type = IBV_FLOW_SPEC_IPV4_EXT;
  spec.size = sizeof(spec);
  return spec;
}

ibv_flow_spec_ipv6 Ipv6Spec() {
  ibv_flow_spec_ipv6 spec{};
  spec.type = IBV_FLOW_SPEC_IPV6;
  spec.size = sizeof(spec);
  return spec;
}

void DestinationMac(Lab& lab) {
  ExpectTakes(lab, FlowRequest().Eth({.to = kTestMacB}), PlainFrame(60),
              {From(kOtherMac, kTestMacA).Payload(60).Build()});
}

void SourceMac(Lab& lab) {
  ExpectTakes(lab, FlowRequest().Eth({.to = kTestMacB, .from = kTestMacA}),
              PlainFrame(60), {From(kTestMacB, kOtherMac).Payload(60).Build()});
}

void BitsOfAMac(Lab& lab) {
  // The group bit alone.
  const net::MacAddress group{{1, 0, 0, 0, 0, 0}};
  ExpectTakes(lab, FlowRequest().Eth({.to = group, .to_mask = group}),
              From(net::MacAddress{{0x33, 0x33, 0, 0, 0, 1}}, kTestMacA)
                  .Payload(60)
                  .Build(),
              {PlainFrame(60)});
}

void EtherType(Lab& lab) {
  ExpectTakes(lab, FlowRequest().Eth({.to = kTestMacB, .type = 0x88b5}),
              TypeFrame(0x88b5), {TypeFrame(0x88b6), UdpFrame(1, 2)});
}

void EtherTypeBehindATag(Lab& lab) {
  ExpectTakes(lab, FlowRequest().Eth({.to = kTestMacB, .type = 0x0800}),
              VlanFrame(5), {TypeFrame(0x88b6)});
}

void VlanTag(Lab& lab) {
  ExpectTakes(lab, FlowRequest().Eth({.to = kTestMacB, .tci = 7}), VlanFrame(7),
              {VlanFrame(8), UdpFrame(1, 2)});
}

void BitsOfAVlanTag(Lab& lab) {
  // The VLAN, whatever the priority.
  ExpectTakes(
      lab, FlowRequest().Eth({.to = kTestMacB, .tci = 7, .tci_mask = 0x0fff}),
      VlanFrame(0xa007), {VlanFrame(0xa008)});
}

void VlanTagOfZero(Lab& lab) {
  // Frames without a tag have none that is zero.
  ExpectTakes(lab, FlowRequest().Eth({.to = kTestMacB, .tci = 0}), VlanFrame(0),
              {UdpFrame(1, 2)});
}

void Ipv4Source(Lab& lab) {
  ExpectTakes(lab, FlowRequest().Eth().Ipv4({.from = "10.0.0.1"}),
              Ipv4Frame("10.0.0.1", "10.0.0.2"),
              {Ipv4Frame("10.0.0.3", "10.0.0.2"), TypeFrame(0x88b5)});
}

void Ipv4Destination(Lab& lab) {
  ExpectTakes(lab, FlowRequest().Eth().Ipv4({.to = "10.0.0.2"}),
              Ipv4Frame("10.0.0.1", "10.0.0.2"),
              {Ipv4Frame("10.0.0.1", "10.0.0.3")});
}

void Ipv4Prefix(Lab& lab) {
  ExpectTakes(lab, FlowRequest().Eth().Ipv4({.to = "10.1.0.0", .prefix = 16}),
              Ipv4Frame("10.0.0.1", "10.1.77.5"),
              {Ipv4Frame("10.0.0.1", "10.2.0.0")});
}

void Ipv4Alone(Lab& lab) {
  // Without an Ethernet spec in front.
  ExpectTakes(lab, FlowRequest().Ipv4({.to = "10.0.0.2"}),
              Ipv4Frame("10.0.0.1", "10.0.0.2"),
              {Ipv4Frame("10.0.0.1", "10.0.0.3")});
}

void Ipv4BehindATag(Lab& lab) {
  ExpectTakes(lab, FlowRequest().Eth().Ipv4({.to = "10.0.0.2"}), VlanFrame(9),
              {Ipv4Frame("10.0.0.1", "10.0.0.3")});
}

void Ipv4WithOptions(Lab& lab) {
  const auto with_options = [](uint16_t port) {
    return Plain()
        .Ipv4("10.0.0.1", "10.0.0.2", {.options = Bytes(8, std::byte{1})})
        .Udp(1, port)
        .Payload(40)
        .Build();
  };
  ExpectTakes(lab, FlowRequest().Eth().Ipv4().Udp({.to = 53}), with_options(53),
              {with_options(54)});
}

void Ipv4Protocol(Lab& lab) {
  ibv_flow_spec_ipv4_ext spec = Ipv4Ext();
  spec.val.proto = 6;
  spec.mask.proto = 0xff;
  ExpectTakes(lab, FlowRequest().Eth().Add(spec), TcpFrame(1, 2),
              {UdpFrame(1, 2)});
}

void Ipv4Tos(Lab& lab) {
  ibv_flow_spec_ipv4_ext spec = Ipv4Ext();
  spec.val.tos = 0xb8;
  // The DSCP, not the ECN bits.
  spec.mask.tos = 0xfc;
  ExpectTakes(lab, FlowRequest().Eth().Add(spec),
              Ipv4Frame("10.0.0.1", "10.0.0.2", {.tos = 0xb9}),
              {Ipv4Frame("10.0.0.1", "10.0.0.2", {.tos = 0x28})});
}

void Ipv4Ttl(Lab& lab) {
  ibv_flow_spec_ipv4_ext spec = Ipv4Ext();
  spec.val.ttl = 1;
  spec.mask.ttl = 0xff;
  ExpectTakes(lab, FlowRequest().Eth().Add(spec),
              Ipv4Frame("10.0.0.1", "10.0.0.2", {.ttl = 1}),
              {Ipv4Frame("10.0.0.1", "10.0.0.2", {.ttl = 2})});
}

void Ipv6Source(Lab& lab) {
  ExpectTakes(
      lab, FlowRequest().Eth().Ipv6({.from = "fc00::1"}),
      Ipv6Frame("fc00::1", "fc00::2"),
      {Ipv6Frame("fc00::3", "fc00::2"), Ipv4Frame("10.0.0.1", "10.0.0.2")});
}

void Ipv6Destination(Lab& lab) {
  ExpectTakes(lab, FlowRequest().Eth().Ipv6({.to = "fc00::2"}),
              Ipv6Frame("fc00::1", "fc00::2"),
              {Ipv6Frame("fc00::1", "fc00::3")});
}

void Ipv6Prefix(Lab& lab) {
  ExpectTakes(lab, FlowRequest().Eth().Ipv6({.to = "fc00:1::", .prefix = 32}),
              Ipv6Frame("fc00::1", "fc00:1::77"),
              {Ipv6Frame("fc00::1", "fc00:2::77")});
}

void Ipv6NextHeader(Lab& lab) {
  ibv_flow_spec_ipv6 spec = Ipv6Spec();
  spec.val.next_hdr = 6;
  spec.mask.next_hdr = 0xff;
  ExpectTakes(lab, FlowRequest().Eth().Add(spec),
              Plain().Ipv6("fc00::1", "fc00::2").Tcp(1, 2).Payload(40).Build(),
              {Ipv6Frame("fc00::1", "fc00::2")});
}

void Ipv6TrafficClass(Lab& lab) {
  ibv_flow_spec_ipv6 spec = Ipv6Spec();
  spec.val.traffic_class = 0xb8;
  spec.mask.traffic_class = 0xff;
  ExpectTakes(lab, FlowRequest().Eth().Add(spec),
              Ipv6Frame("fc00::1", "fc00::2", {.traffic_class = 0xb8}),
              {Ipv6Frame("fc00::1", "fc00::2", {.traffic_class = 0x08})});
}

void Ipv6FlowLabel(Lab& lab) {
  ibv_flow_spec_ipv6 spec = Ipv6Spec();
  spec.val.flow_label = htonl(0x12345);
  spec.mask.flow_label = htonl(0xfffff);
  ExpectTakes(lab, FlowRequest().Eth().Add(spec),
              Ipv6Frame("fc00::1", "fc00::2", {.flow_label = 0x12345}),
              {Ipv6Frame("fc00::1", "fc00::2", {.flow_label = 0x12346})});
}

void UdpDestination(Lab& lab) {
  ExpectTakes(lab, FlowRequest().Eth().Ipv4().Udp({.to = 53}), UdpFrame(9, 53),
              {UdpFrame(9, 54), UdpFrame(53, 9)});
}

void UdpSource(Lab& lab) {
  ExpectTakes(lab, FlowRequest().Eth().Ipv4().Udp({.from = 53}),
              UdpFrame(53, 9), {UdpFrame(54, 9), UdpFrame(9, 53)});
}

void UdpOverIpv6(Lab& lab) {
  const auto udp = [](uint16_t port) {
    return Plain().Ipv6("fc00::1", "fc00::2").Udp(1, port).Payload(40).Build();
  };
  ExpectTakes(lab, FlowRequest().Eth().Ipv6().Udp({.to = 53}), udp(53),
              {udp(54), UdpFrame(1, 53)});
}

void TcpPorts(Lab& lab) {
  ExpectTakes(lab, FlowRequest().Eth().Ipv4().Tcp({.from = 80, .to = 81}),
              TcpFrame(80, 81), {TcpFrame(81, 80), TcpFrame(80, 80)});
}

void TcpIsNotUdp(Lab& lab) {
  ExpectTakes(lab, FlowRequest().Eth().Ipv4().Tcp({.to = 53}), TcpFrame(1, 53),
              {UdpFrame(1, 53)});
}

void FiveTuple(Lab& lab) {
  ExpectTakes(
      lab,
      FlowRequest()
          .Eth({.to = kTestMacB})
          .Ipv4({.from = "10.0.0.1", .to = "10.0.0.2"})
          .Udp({.from = 1, .to = 2}),
      UdpFrame(1, 2),
      {UdpFrame(1, 3), UdpFrame(3, 2), TcpFrame(1, 2),
       Ipv4Frame("10.0.0.1", "10.0.0.9"), Ipv4Frame("10.0.0.9", "10.0.0.2")});
}

// What stands where ports would be, is data.
void LaterFragmentsHaveNoPorts(Lab& lab) {
  const Bytes later = Plain()
                          .Ipv4("10.0.0.1", "10.0.0.2",
                                {.fragment_offset_bytes = 64, .protocol = 17})
                          .Raw({0, 1, 0, 53, 0, 40, 0, 0})
                          .Payload(32)
                          .Build();
  ExpectTakes(lab, FlowRequest().Eth().Ipv4().Udp({.to = 53}), UdpFrame(1, 53),
              {later});
}

void CutFramesMatchNothingBeyondTheirEnd(Lab& lab) {
  const auto cut = [](size_t bytes) {
    return Plain().Ipv4("10.0.0.1", "10.0.0.2").Udp(1, 53).CutTo(bytes).Build();
  };
  ExpectTakes(lab, FlowRequest().Eth().Ipv4().Udp({.to = 53}), UdpFrame(1, 53),
              {cut(20), cut(34), cut(36)});
}

}  // namespace

CheckList FlowFieldChecks() {
  static constexpr Check kChecks[] = {
      {"flow_fields.destination_mac", kInject, DestinationMac},
      {"flow_fields.source_mac", kInject, SourceMac},
      {"flow_fields.bits_of_a_mac", kInject, BitsOfAMac},
      {"flow_fields.ether_type", kInject, EtherType},
      {"flow_fields.ether_type_behind_a_tag", kInject, EtherTypeBehindATag},
      {"flow_fields.vlan_tag", kInject, VlanTag},
      {"flow_fields.bits_of_a_vlan_tag", kInject, BitsOfAVlanTag},
      {"flow_fields.vlan_tag_of_zero", kInject, VlanTagOfZero},
      {"flow_fields.ipv4_source", kInject, Ipv4Source},
      {"flow_fields.ipv4_destination", kInject, Ipv4Destination},
      {"flow_fields.ipv4_prefix", kInject, Ipv4Prefix},
      {"flow_fields.ipv4_alone", kInject, Ipv4Alone},
      {"flow_fields.ipv4_behind_a_tag", kInject, Ipv4BehindATag},
      {"flow_fields.ipv4_with_options", kInject, Ipv4WithOptions},
      {"flow_fields.ipv4_protocol", kInject, Ipv4Protocol},
      {"flow_fields.ipv4_tos", kInject, Ipv4Tos},
      {"flow_fields.ipv4_ttl", kInject | kStrict, Ipv4Ttl},
      {"flow_fields.ipv6_source", kInject, Ipv6Source},
      {"flow_fields.ipv6_destination", kInject, Ipv6Destination},
      {"flow_fields.ipv6_prefix", kInject, Ipv6Prefix},
      {"flow_fields.ipv6_next_header", kInject, Ipv6NextHeader},
      {"flow_fields.ipv6_traffic_class", kInject, Ipv6TrafficClass},
      {"flow_fields.ipv6_flow_label", kInject, Ipv6FlowLabel},
      {"flow_fields.udp_destination", kInject, UdpDestination},
      {"flow_fields.udp_source", kInject, UdpSource},
      {"flow_fields.udp_over_ipv6", kInject, UdpOverIpv6},
      {"flow_fields.tcp_ports", kInject, TcpPorts},
      {"flow_fields.tcp_is_not_udp", kInject, TcpIsNotUdp},
      {"flow_fields.five_tuple", kInject, FiveTuple},
      {"flow_fields.later_fragments_have_no_ports", kInject,
       LaterFragmentsHaveNoPorts},
      {"flow_fields.cut_frames_match_nothing_beyond_their_end",
       kInject | kRunts, CutFramesMatchNothingBeyondTheirEnd},
  };
  return kChecks;
}

}  // namespace weir::conformance
