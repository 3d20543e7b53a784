// The hash of packets against the values that Microsoft publishes in "Verifying
// the RSS Hash Calculation", and which packets have one in common.

#include "weir/stage/flow_hash.h"

#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/fake_queues.h"
#include "test/support/frame.h"
#include "test/support/naive_checksums.h"
#include "test/support/packet_chain.h"

namespace weir {
namespace {

using testing::Lab;
using testing::MakeChain;
using testing::NaiveParse;

// The first of the published vectors for IPv4 and for IPv6.
constexpr const char* kSource4 = "66.9.149.187";
constexpr const char* kDestination4 = "161.142.100.80";
constexpr uint32_t kAddresses4 = 0x323e8fc2;
constexpr uint32_t kAll4 = 0x51ccc178;
constexpr const char* kSource6 = "3ffe:2501:200:1fff::7";
constexpr const char* kDestination6 = "3ffe:2501:200:3::1";
constexpr uint32_t kAddresses6 = 0x2cc18cd5;
constexpr uint32_t kAll6 = 0x40207d3d;
constexpr uint16_t kSourcePort = 2794;
constexpr uint16_t kDestinationPort = 1766;

uint32_t HashOf(const Bytes& frame, const net::FlowHashOptions& options = {},
                const std::vector<size_t>& sizes = {}) {
  Lab lab;
  FlowHash stage(options);
  Mbuf& packet = MakeChain(lab.lcore.cache(), frame, sizes);
  packet.info() = NaiveParse(frame);
  packet.set_hash(0xdeadbeef);
  EXPECT_TRUE(stage.OnPacket(packet, lab.lcore).is_pass());
  const uint32_t hash = packet.hash();
  const std::array<Mbuf*, 1> all = {&packet};
  lab.lcore.cache().FreePackets(all);
  return hash;
}

Frame Ip4(const Ipv4Fields& fields = {}) {
  return Frame().Ipv4(kSource4, kDestination4, fields);
}
Frame Ip6(const Ipv6Fields& fields = {}) {
  return Frame().Ipv6(kSource6, kDestination6, fields);
}

TEST(FlowHashTest, GivesThePublishedValues) {
  EXPECT_EQ(HashOf(Ip4().Tcp(kSourcePort, kDestinationPort).Build()), kAll4);
  EXPECT_EQ(HashOf(Ip4().Udp(kSourcePort, kDestinationPort).Build()), kAll4);
  EXPECT_EQ(HashOf(Ip6().Tcp(kSourcePort, kDestinationPort).Build()), kAll6);
  EXPECT_EQ(HashOf(Ip6().Udp(kSourcePort, kDestinationPort).Build()), kAll6);
}

TEST(FlowHashTest, TakesAddressesAloneOfOtherProtocols) {
  EXPECT_EQ(HashOf(Ip4().Echo().Payload(9).Build()), kAddresses4);
  EXPECT_EQ(HashOf(Ip6().Echo().Payload(9).Build()), kAddresses6);
  EXPECT_EQ(HashOf(Ip4().Payload(9).Build()), kAddresses4);
}

TEST(FlowHashTest, LooksBehindOptionsExtensionHeadersAndTags) {
  EXPECT_EQ(HashOf(Ip4({.options = Bytes(12, std::byte{1})})
                       .Udp(kSourcePort, kDestinationPort)
                       .Build()),
            kAll4);
  EXPECT_EQ(HashOf(Ip6({.next_header = uint8_t{60}})
                       .Raw({17, 0, 1, 4, 0, 0, 0, 0})
                       .Udp(kSourcePort, kDestinationPort)
                       .Build()),
            kAll6);
  EXPECT_EQ(HashOf(Frame()
                       .Eth(kTestMacA, kTestMacB)
                       .Vlan(7)
                       .Ipv4(kSource4, kDestination4)
                       .Udp(kSourcePort, kDestinationPort)
                       .Build()),
            kAll4);
}

// Or parts of a datagram would go to different lcores.
TEST(FlowHashTest, TakesAddressesAloneOfFragmentsTheFirstOneToo) {
  for (const uint16_t offset : {0, 8, 1480}) {
    EXPECT_EQ(
        HashOf(Ip4({.more_fragments = true, .fragment_offset_bytes = offset})
                   .Udp(kSourcePort, kDestinationPort)
                   .Build()),
        kAddresses4);
    EXPECT_EQ(HashOf(Ip6()
                         .Ipv6Fragment(
                             {.offset_bytes = offset, .more_fragments = true})
                         .Udp(kSourcePort, kDestinationPort)
                         .Build()),
              kAddresses6);
  }
  EXPECT_EQ(HashOf(Ip4({.fragment_offset_bytes = 16})
                       .Udp(kSourcePort, kDestinationPort)
                       .Build()),
            kAddresses4);
}

// RFC 6946: it is no fragment.
TEST(FlowHashTest, TakesPortsBehindAnAtomicFragmentHeader) {
  EXPECT_EQ(HashOf(Ip6()
                       .Ipv6Fragment({.id = 7})
                       .Udp(kSourcePort, kDestinationPort)
                       .Build()),
            kAll6);
}

TEST(FlowHashTest, TakesPortsOfTheProtocolsThatItIsToldTo) {
  const Bytes udp = Ip4().Udp(kSourcePort, kDestinationPort).Build();
  const Bytes tcp = Ip4().Tcp(kSourcePort, kDestinationPort).Build();
  Bytes ports = MakeBytes({kSourcePort >> 8, kSourcePort & 0xff,
                           kDestinationPort >> 8, kDestinationPort & 0xff});
  ports.resize(12);
  const Bytes sctp = Ip4({.protocol = uint8_t{132}}).Raw(ports).Build();
  EXPECT_EQ(HashOf(udp, {.udp_ports = false}), kAddresses4);
  EXPECT_EQ(HashOf(tcp, {.udp_ports = false}), kAll4);
  EXPECT_EQ(HashOf(tcp, {.tcp_ports = false}), kAddresses4);
  EXPECT_EQ(HashOf(sctp), kAddresses4);
  EXPECT_EQ(HashOf(sctp, {.sctp_ports = true}), kAll4);
}

TEST(FlowHashTest, IsZeroForWhatIsNotIp) {
  EXPECT_EQ(
      HashOf(Frame().Eth(kTestMacA, kTestMacB, 0x0806).Payload(28).Build()),
      0u);
}

TEST(FlowHashTest, TakesAddressesAloneOfWhatHasNoRoomForPorts) {
  EXPECT_EQ(HashOf(Ip4({.protocol = uint8_t{17}}).Raw({1, 2, 3}).Build()),
            kAddresses4);
  EXPECT_EQ(HashOf(Ip6({.next_header = uint8_t{6}}).Build()), kAddresses6);
}

// Woo and Park 2012: both directions of a flow have one hash; flows differ.
TEST(FlowHashTest, IsTheSameBothWaysUnderASymmetricKey) {
  const net::FlowHashOptions options = {.key = net::kSymmetricToeplitzKey};
  std::set<uint32_t> hashes;
  for (int port = 1; port < 200; ++port) {
    const auto number = static_cast<uint16_t>(port * 77);
    const uint32_t there =
        HashOf(Ip4().Udp(number, kDestinationPort).Build(), options);
    const uint32_t back = HashOf(Frame()
                                     .Ipv4(kDestination4, kSource4)
                                     .Udp(kDestinationPort, number)
                                     .Build(),
                                 options);
    EXPECT_EQ(there, back);
    hashes.insert(there);
    EXPECT_EQ(HashOf(Ip6().Tcp(number, kDestinationPort).Build(), options),
              HashOf(Frame()
                         .Ipv6(kDestination6, kSource6)
                         .Tcp(kDestinationPort, number)
                         .Build(),
                     options));
  }
  EXPECT_EQ(hashes.size(), 199u);
}

}  // namespace
}  // namespace weir
