// Checksum offload: what IBV_SEND_IP_CSUM fills in, and of which received
// frames IBV_WC_IP_CSUM_OK tells. The right checksums are those of frames that
// were built with them.

#include <infiniband/verbs.h>

#include <functional>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

constexpr unsigned kChecksummed = IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM;

Frame Plain() { return Frame().Eth(kTestMacB, kTestMacA); }

// A frame with the checksums that are given, right ones where none is.
using Make = std::function<Bytes(std::optional<uint16_t> ip,
                                 std::optional<uint16_t> l4)>;

// What is sent with checksums of 0 arrives with the right ones.
void ExpectFilledIn(Lab& lab, const Make& make) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(qp.PostSend(0, make(0, 0), kChecksummed), 0);
  const auto done = qp.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(lab.Observe(1), std::vector<Bytes>{make({}, {})});
}

Bytes UdpOverIpv4(std::optional<uint16_t> ip, std::optional<uint16_t> l4) {
  return Plain()
      .Ipv4("10.0.0.1", "10.0.0.2", {.checksum = ip})
      .Udp(1, 2, {.checksum = l4})
      .Payload(101)
      .Build();
}

void FillsInUdp(Lab& lab) { ExpectFilledIn(lab, UdpOverIpv4); }

void FillsInTcp(Lab& lab) {
  ExpectFilledIn(lab, [](auto ip, auto l4) {
    return Plain()
        .Ipv4("10.0.0.1", "10.0.0.2", {.checksum = ip})
        .Tcp(1, 2, {.checksum = l4})
        .Payload(100)
        .Build();
  });
}

void FillsInBehindATag(Lab& lab) {
  ExpectFilledIn(lab, [](auto ip, auto l4) {
    return Plain()
        .Vlan(7)
        .Ipv4("10.0.0.1", "10.0.0.2", {.checksum = ip})
        .Udp(1, 2, {.checksum = l4})
        .Payload(60)
        .Build();
  });
}

void FillsInBehindOptions(Lab& lab) {
  ExpectFilledIn(lab, [](auto ip, auto l4) {
    return Plain()
        .Ipv4("10.0.0.1", "10.0.0.2",
              {.options = Bytes(8, std::byte{1}), .checksum = ip})
        .Udp(1, 2, {.checksum = l4})
        .Payload(60)
        .Build();
  });
}

void FillsInIpv6(Lab& lab) {
  ExpectFilledIn(lab, [](auto, auto l4) {
    return Plain()
        .Ipv6("fc00::1", "fc00::2")
        .Udp(1, 2, {.checksum = l4})
        .Payload(60)
        .Build();
  });
}

void FillsInTheHeaderOfOtherProtocols(Lab& lab) {
  ExpectFilledIn(lab, [](auto ip, auto) {
    return Plain()
        .Ipv4("10.0.0.1", "10.0.0.2", {.protocol = 89, .checksum = ip})
        .Payload(60)
        .Build();
  });
}

void DoesNotCountPadding(Lab& lab) {
  ExpectFilledIn(lab, [](auto ip, auto l4) {
    return Plain()
        .Ipv4("10.0.0.1", "10.0.0.2", {.checksum = ip})
        .Udp(1, 2, {.checksum = l4})
        .Payload(3)
        .Raw({})
        .PadTo(60)
        .Build();
  });
}

void LeavesTheBufferAlone(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  const Bytes frame = UdpOverIpv4(0, 0);
  ASSERT_EQ(qp.PostSend(0, frame, kChecksummed), 0);
  ASSERT_EQ(qp.Poll(1).size(), 1u);
  const auto buffer = rig.Buffer(0).first(frame.size());
  EXPECT_EQ(Bytes(buffer.begin(), buffer.end()), frame);
}

void FillsInAcrossSges(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.send_sge = 3});
  ASSERT_TRUE(qp.ok());
  const Bytes frame = UdpOverIpv4(0, 0);
  // The IPv4 header in two pieces, the cut within its checksum.
  std::vector<ibv_sge> sges = {
      rig.Put(0, Bytes(frame.begin(), frame.begin() + 25)),
      rig.Put(1, Bytes(frame.begin() + 25, frame.begin() + 41)),
      rig.Put(2, Bytes(frame.begin() + 41, frame.end()))};
  ASSERT_EQ(qp.PostSend(0, sges, kChecksummed), 0);
  EXPECT_EQ(lab.Observe(1), std::vector<Bytes>{UdpOverIpv4({}, {})});
}

void FillsInInlineData(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.inline_bytes = 160});
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(qp.PostSend(0, UdpOverIpv4(0, 0), kChecksummed | IBV_SEND_INLINE),
            0);
  EXPECT_EQ(lab.Observe(1), std::vector<Bytes>{UdpOverIpv4({}, {})});
}

void IsAskedForByEachRequest(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(qp.PostSend(0, UdpOverIpv4(0, 0), kChecksummed), 0);
  ASSERT_EQ(qp.PostSend(1, UdpOverIpv4(0, 0)), 0);
  ASSERT_EQ(qp.PostSend(2, UdpOverIpv4(0, 0), kChecksummed), 0);
  EXPECT_EQ(lab.Observe(3),
            (std::vector<Bytes>{UdpOverIpv4({}, {}), UdpOverIpv4(0, 0),
                                UdpOverIpv4({}, {})}));
}

// Sent with the flag and still as they were.
void ExpectLeftAlone(Lab& lab, const std::vector<Bytes>& frames) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  for (size_t i = 0; i < frames.size(); ++i) {
    ASSERT_EQ(qp.PostSend(i, frames[i], kChecksummed), 0);
  }
  EXPECT_EQ(lab.Observe(frames.size()), frames);
}

void LeavesOtherFramesAlone(Lab& lab) {
  ExpectLeftAlone(lab, {PlainFrame(60), PlainFrame(1500, 1)});
}

void LeavesPortsOfFragmentsAlone(Lab& lab) {
  const Bytes first = Plain()
                          .Ipv4("10.0.0.1", "10.0.0.2",
                                {.more_fragments = true, .protocol = 17})
                          .Raw({0, 1, 0, 2, 0, 48, 0, 0})
                          .Payload(40)
                          .Build();
  ExpectLeftAlone(lab, {first});
}

void CutPacketsAreLeftAlone(Lab& lab) {
  Bytes cut = UdpOverIpv4(0x1111, 0x2222);
  cut.resize(100);
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(qp.PostSend(0, cut, kChecksummed), 0);
  ASSERT_EQ(lab.Observe(1).size(), 1u);
  // Its length is a lie: whatever the device makes of it, it keeps the rest.
  const Bytes sent = lab.Observe(1)[0];
  ASSERT_EQ(sent.size(), cut.size());
  EXPECT_EQ(Bytes(sent.begin() + 42, sent.end()),
            Bytes(cut.begin() + 42, cut.end()));
}

// All of `frames` are received, and told to be good or not.
void ExpectTold(Lab& lab, const std::vector<Bytes>& frames, bool good) {
  Rig rig(lab, frames);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, frames.size());
  qp.Take();
  rig.Deliver();
  const auto done = qp.Poll(frames.size());
  ASSERT_EQ(done.size(), frames.size());
  for (const ibv_wc& wc : done) {
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ((wc.wc_flags & IBV_WC_IP_CSUM_OK) != 0, good) << wc.wr_id;
  }
}

void TellsOfGoodOnes(Lab& lab) {
  ExpectTold(
      lab,
      {UdpFrame(1, 2),
       Plain().Ipv4("10.0.0.1", "10.0.0.2").Tcp(1, 2).Payload(33).Build(),
       Plain()
           .Vlan(7)
           .Ipv4("10.0.0.1", "10.0.0.2")
           .Udp(1, 2)
           .Payload(40)
           .Build()},
      true);
}

void SaysNothingOfBadOnes(Lab& lab) {
  ExpectTold(lab, {UdpOverIpv4(0x1234, {}), UdpOverIpv4({}, 0x1234)}, false);
}

void SaysNothingOfOthers(Lab& lab) {
  ExpectTold(lab,
             {PlainFrame(80),
              Plain().Ipv6("fc00::1", "fc00::2").Udp(1, 2).Payload(40).Build(),
              Plain()
                  .Ipv4("10.0.0.1", "10.0.0.2",
                        {.more_fragments = true, .protocol = 17})
                  .Payload(64)
                  .Build()},
             false);
}

}  // namespace

CheckList ChecksumChecks() {
  static constexpr uint32_t kNeeds = kObserve | kChecksumCap;
  static constexpr Check kChecks[] = {
      {"checksum.fills_in_udp", kNeeds, FillsInUdp},
      {"checksum.fills_in_tcp", kNeeds, FillsInTcp},
      {"checksum.fills_in_behind_a_tag", kNeeds, FillsInBehindATag},
      {"checksum.fills_in_behind_options", kNeeds, FillsInBehindOptions},
      {"checksum.fills_in_ipv6", kNeeds | kStrict, FillsInIpv6},
      {"checksum.fills_in_the_header_of_other_protocols", kNeeds | kStrict,
       FillsInTheHeaderOfOtherProtocols},
      {"checksum.does_not_count_padding", kNeeds, DoesNotCountPadding},
      {"checksum.leaves_the_buffer_alone", kChecksumCap, LeavesTheBufferAlone},
      {"checksum.fills_in_across_sges", kNeeds, FillsInAcrossSges},
      {"checksum.fills_in_inline_data", kNeeds, FillsInInlineData},
      {"checksum.is_asked_for_by_each_request", kNeeds,
       IsAskedForByEachRequest},
      {"checksum.leaves_other_frames_alone", kNeeds | kStrict,
       LeavesOtherFramesAlone},
      {"checksum.leaves_ports_of_fragments_alone", kNeeds | kStrict,
       LeavesPortsOfFragmentsAlone},
      {"checksum.cut_packets_are_left_alone", kNeeds | kStrict,
       CutPacketsAreLeftAlone},
      {"checksum.tells_of_good_ones", kChecksumCap | kInject, TellsOfGoodOnes},
      {"checksum.says_nothing_of_bad_ones", kChecksumCap | kInject,
       SaysNothingOfBadOnes},
      {"checksum.says_nothing_of_others", kChecksumCap | kInject,
       SaysNothingOfOthers},
  };
  return kChecks;
}

}  // namespace weir::conformance
