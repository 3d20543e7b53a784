// IBV_WC_IP_CSUM_OK through the verbs API, against frames whose checksums come
// from test/support/frame.

#include <infiniband/verbs.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/hca/verbs_rig.h"
#include "test/support/frame.h"
#include "test/support/own_wire.h"

namespace weir::hca {
namespace {

Bytes Tcp(size_t payload) {
  return Frame()
      .Ipv4("192.0.2.1", "192.0.2.2")
      .Tcp(80, 4000)
      .Payload(payload)
      .Build();
}

Bytes Udp(size_t payload) {
  return Frame()
      .Eth(kTestMacA, kTestMacB)
      .Vlan(7)
      .Ipv4("192.0.2.1", "192.0.2.2", {.options = Bytes(4)})
      .Udp(80, 4000)
      .Payload(payload)
      .Build();
}

Bytes WithWrongByte(Bytes frame, size_t at) {
  frame[at] ^= std::byte{1};
  return frame;
}

// Those that deserve the flag, and others.
std::vector<Bytes> Good() { return {Tcp(0), Tcp(1), Tcp(1400), Udp(18)}; }
std::vector<Bytes> Others() {
  return {WithWrongByte(Tcp(100), 24),   // IPv4 header checksum
          WithWrongByte(Tcp(100), 50),   // TCP checksum
          WithWrongByte(Tcp(100), 153),  // payload
          Frame().Ipv6("2001:db8::1", "2001:db8::2").Tcp(1, 2).Build(),
          Frame()
              .Ipv4("192.0.2.1", "192.0.2.2", {.more_fragments = true})
              .Udp(1, 2)
              .Payload(8)
              .Build(),
          Frame()
              .Ipv4("192.0.2.1", "192.0.2.2")
              .Udp(1, 2, {.checksum = 0})
              .Payload(8)
              .Build(),
          Frame().Ipv4("192.0.2.1", "192.0.2.2").Echo().Payload(8).Build(),
          Frame().Eth(kTestMacA, kTestMacB, 0x0806).Payload(46).Build()};
}

// The two ends of a wire.
struct Cable {
  explicit Cable(const std::string& key, VerbsRig::Options options = {})
      : a({.key = key}), b(With(options, key)) {
    a.MoveTo(IBV_QPS_RTS);
    b.MoveTo(IBV_QPS_RTS);
    b.TakeEverything();
  }
  static VerbsRig::Options With(VerbsRig::Options options,
                                const std::string& key) {
    options.key = key;
    return options;
  }
  void Send(const Bytes& frame, unsigned flags = 0) {
    std::copy(frame.begin(), frame.end(), a.Buffer(0).begin());
    ASSERT_EQ(b.PostReceive(0), 0);
    ASSERT_EQ(a.PostSend(0, static_cast<uint32_t>(frame.size()),
                         flags | IBV_SEND_SIGNALED),
              0);
    ASSERT_EQ(a.Poll(1).size(), 1u);
  }
  // The wc_flags that `frame` arrives with.
  unsigned FlagsOf(const Bytes& frame, unsigned flags = 0) {
    Send(frame, flags);
    const auto done = b.Poll(1);
    EXPECT_EQ(done.size(), 1u);
    return done.empty() ? ~0u : done[0].wc_flags;
  }
  VerbsRig a;
  VerbsRig b;
};

TEST(ReceiveChecksumTest, MarksJustTheFramesWhoseChecksumsAreRight) {
  Cable cable(OwnWire("rxcsum1"));
  for (const Bytes& frame : Good()) {
    EXPECT_EQ(cable.FlagsOf(frame), unsigned{IBV_WC_IP_CSUM_OK}) << Hex(frame);
  }
  for (const Bytes& frame : Others()) {
    EXPECT_EQ(cable.FlagsOf(frame), 0u) << Hex(frame);
  }
}

TEST(ReceiveChecksumTest, MarksFramesThatWereFinishedByTheSender) {
  Cable cable(OwnWire("rxcsum2"));
  const Bytes wrong = WithWrongByte(Tcp(100), 50);
  EXPECT_EQ(cable.FlagsOf(wrong), 0u);
  EXPECT_EQ(cable.FlagsOf(wrong, IBV_SEND_IP_CSUM),
            unsigned{IBV_WC_IP_CSUM_OK});
  // Of IPv6, finished or not, nothing is said.
  const Bytes six =
      Frame().Ipv6("2001:db8::1", "2001:db8::2").Tcp(1, 2).Build();
  EXPECT_EQ(cable.FlagsOf(six, IBV_SEND_IP_CSUM), 0u);
}

TEST(ReceiveChecksumTest, MarksFramesThatAreScatteredOrCopied) {
  // A second queue pair makes the port look at the rules of every frame.
  Cable cable(OwnWire("rxcsum3"));
  ibv_qp_init_attr attr{};
  attr.send_cq = attr.recv_cq = cable.b.cq;
  attr.cap = {.max_send_wr = 1,
              .max_recv_wr = 1,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = 0};
  attr.qp_type = IBV_QPT_RAW_PACKET;
  ibv_qp* const other = ibv_create_qp(cable.b.pd, &attr);
  ibv_flow_attr rule{};
  rule.type = IBV_FLOW_ATTR_ALL_DEFAULT;
  rule.size = sizeof(rule);
  rule.port = 1;
  ibv_flow* const flow = ibv_create_flow(other, &rule);
  ASSERT_NE(flow, nullptr);
  for (const Bytes& frame : Good()) {
    EXPECT_EQ(cable.FlagsOf(frame), unsigned{IBV_WC_IP_CSUM_OK});
  }
  for (const Bytes& frame : Others()) EXPECT_EQ(cable.FlagsOf(frame), 0u);
  EXPECT_EQ(ibv_destroy_flow(flow), 0);
  EXPECT_EQ(ibv_destroy_qp(other), 0);
}

TEST(ReceiveChecksumTest, SaysItInAnExtendedPollToo) {
  Cable cable(OwnWire("rxcsum4"), {.wc_flags = uint64_t{0}});
  for (const Bytes& frame : {Tcp(10), WithWrongByte(Tcp(10), 50)}) {
    cable.Send(frame);
    ibv_poll_cq_attr attr{};
    ASSERT_EQ(ibv_start_poll(cable.b.cq_ex, &attr), 0);
    EXPECT_EQ(ibv_wc_read_wc_flags(cable.b.cq_ex),
              frame == Tcp(10) ? unsigned{IBV_WC_IP_CSUM_OK} : 0u);
    ibv_end_poll(cable.b.cq_ex);
  }
}

TEST(ReceiveChecksumTest, IsSwitchedOffByTheKey) {
  Cable cable(OwnWire("rxcsum5,rx_checksum=off"));
  for (const Bytes& frame : Good()) EXPECT_EQ(cable.FlagsOf(frame), 0u);
}

TEST(ReceiveChecksumTest, IsKnownOfTheFramesOfNull) {
  for (const char* key :
       {"null:", "null:,size=1518", "null:,rx_checksum=off"}) {
    VerbsRig rig({.key = key});
    rig.MoveTo(IBV_QPS_RTS);
    rig.TakeEverything();
    ASSERT_EQ(rig.PostReceive(0), 0);
    const auto done = rig.Poll(1);
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].wc_flags, unsigned{IBV_WC_IP_CSUM_OK});
    const auto got = rig.Buffer(0).first(done[0].byte_len);
    // Its own word is not enough: the same frame by the slow reference.
    const auto payload = got.subspan(42);
    EXPECT_EQ(Hex(got),
              Hex(Frame()
                      .Eth({{2, 0, 0, 0, 0, 2}}, {{2, 0, 0, 0, 0, 1}})
                      .Ipv4("192.0.2.1", "192.0.2.2", {.dont_fragment = true})
                      .Udp(1000, 2000)
                      .Raw(payload)
                      .Build()));
  }
}

TEST(ReceiveChecksumTest, IsACapabilityOfTheDevice) {
  VerbsRig rig;
  ibv_device_attr_ex attr{};
  ASSERT_EQ(ibv_query_device_ex(rig.context, nullptr, &attr), 0);
  EXPECT_NE(attr.raw_packet_caps & IBV_RAW_PACKET_CAP_IP_CSUM, 0u);
  EXPECT_NE(attr.orig_attr.device_cap_flags & IBV_DEVICE_RAW_IP_CSUM, 0u);
}

TEST(ReceiveChecksumTest, RefusesAnyOtherValueOfTheKey) {
  EXPECT_EQ(OpenSoftDevice("null:,rx_checksum=maybe"), nullptr);
}

}  // namespace
}  // namespace weir::hca
