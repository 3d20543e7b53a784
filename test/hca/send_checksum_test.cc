// IBV_SEND_IP_CSUM through the verbs API: what arrives at the other end of a
// wire, against frames whose checksums come from test/support/frame.

#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/hca/verbs_rig.h"
#include "test/support/frame.h"
#include "test/support/own_wire.h"

namespace weir::hca {
namespace {

constexpr unsigned kFlags = IBV_SEND_IP_CSUM | IBV_SEND_SIGNALED;

// The two ends of a wire; the second takes everything.
struct Cable {
  explicit Cable(const std::string& key)
      : a({.key = key, .inline_bytes = 256}), b({.key = key}) {
    a.MoveTo(IBV_QPS_RTS);
    b.MoveTo(IBV_QPS_RTS);
    b.TakeEverything();
  }
  VerbsRig a;
  VerbsRig b;
};

void Put(const Bytes& bytes, std::span<std::byte> buffer) {
  std::copy(bytes.begin(), bytes.end(), buffer.begin());
}

// Both checksums of TCP over IPv4 wrong.
Bytes Unfinished(Bytes frame) {
  for (const size_t at : {24u, 25u, 50u, 51u}) frame[at] ^= std::byte{0x99};
  return frame;
}

Bytes TcpFrame(size_t payload, uint16_t id = 0) {
  return Frame()
      .Ipv4("192.0.2.1", "192.0.2.2", {.id = id})
      .Tcp(80, 4000)
      .Payload(payload)
      .Build();
}

// Sends `frame` from the SGEs of `lengths`, each in a buffer of its own, and
// returns what arrives. The buffers must be as before then.
Bytes Carry(Cable& cable, const Bytes& frame,
            const std::vector<uint32_t>& lengths, unsigned flags) {
  std::vector<ibv_sge> sges;
  size_t at = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const auto from = frame.begin() + static_cast<std::ptrdiff_t>(at);
    std::copy_n(from, lengths[i], cable.a.Buffer(i).begin());
    sges.push_back(cable.a.Sge(i, lengths[i]));
    at += lengths[i];
  }
  EXPECT_EQ(at, frame.size());
  ibv_send_wr wr{};
  wr.sg_list = sges.data();
  wr.num_sge = static_cast<int>(sges.size());
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = flags;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(cable.b.PostReceive(0), 0);
  EXPECT_EQ(ibv_post_send(cable.a.qp, &wr, &bad), 0);
  const auto done = cable.b.Poll(1);
  EXPECT_EQ(cable.a.Poll(1).size(), 1u);
  Bytes sent;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const auto buffer = cable.a.Buffer(i);
    sent.insert(sent.end(), buffer.begin(), buffer.begin() + lengths[i]);
  }
  EXPECT_EQ(sent, frame) << "the application's memory was written to";
  if (done.size() != 1) return {};
  const auto got = cable.b.Buffer(0).first(done[0].byte_len);
  return {got.begin(), got.end()};
}

TEST(SendChecksumTest, FillsInWhatIsPostedAsOneSegmentAndInline) {
  Cable cable(OwnWire("csum1"));
  for (const unsigned extra : {0u, unsigned{IBV_SEND_INLINE}}) {
    for (const size_t payload : {0u, 1u, 6u, 100u, 200u}) {
      const Bytes want = TcpFrame(payload);
      EXPECT_EQ(Carry(cable, Unfinished(want),
                      {static_cast<uint32_t>(want.size())}, kFlags | extra),
                want)
          << payload;
    }
  }
}

TEST(SendChecksumTest, FillsInWhatIsGatheredFromSeveralSegments) {
  Cable cable(OwnWire("csum2"));
  const Bytes want = TcpFrame(100);
  ASSERT_EQ(want.size(), 154u);
  for (const std::vector<uint32_t>& lengths :
       {std::vector<uint32_t>{14, 20, 20, 100},
        {54, 100},
        {53, 1, 99, 1},
        {1, 150, 3},
        {25, 26, 103}}) {
    EXPECT_EQ(Carry(cable, Unfinished(want), lengths, kFlags), want);
  }
}

TEST(SendChecksumTest, LeavesFramesWithoutTheFlagAndOfOtherKindsAlone) {
  Cable cable(OwnWire("csum3"));
  const Bytes wrong = Unfinished(TcpFrame(10));
  const auto length = static_cast<uint32_t>(wrong.size());
  EXPECT_EQ(Carry(cable, wrong, {length}, IBV_SEND_SIGNALED), wrong);
  const Bytes arp =
      Frame().Eth(kTestMacA, kTestMacB, 0x0806).Payload(46).Build();
  EXPECT_EQ(Carry(cable, arp, {60}, kFlags), arp);
}

TEST(SendChecksumTest, AcceptsFlagsThatMeanNothingHere) {
  Cable cable(OwnWire("csum4"));
  const Bytes want = TcpFrame(10);
  EXPECT_EQ(Carry(cable, Unfinished(want), {static_cast<uint32_t>(want.size())},
                  kFlags | IBV_SEND_FENCE | IBV_SEND_SOLICITED),
            want);
}

TEST(SendChecksumTest, FillsInWhatHadToWaitForTheMedium) {
  Cable cable(OwnWire("csum5,bytes=4096"));
  std::vector<Bytes> want;
  for (uint16_t i = 0; i < 40; ++i) {
    want.push_back(TcpFrame(500, i));
    Put(Unfinished(want.back()), cable.a.Buffer(i));
    ASSERT_EQ(
        cable.a.PostSend(i, static_cast<uint32_t>(want.back().size()), kFlags),
        0);
  }
  // It had no room for more than the ring holds.
  EXPECT_LT(cable.a.Poll(40).size(), 40u);
  size_t arrived = 0;
  for (int round = 0; round < 1000 && arrived < want.size(); ++round) {
    ASSERT_EQ(cable.b.PostReceive(0), 0);
    const auto done = cable.b.Poll(1);
    if (done.empty()) break;
    const auto got = cable.b.Buffer(0).first(done[0].byte_len);
    EXPECT_EQ(Bytes(got.begin(), got.end()), want[arrived++]);
    cable.a.Poll(1);
  }
  EXPECT_EQ(arrived, want.size());
}

TEST(SendChecksumTest, SendsListsOfBothKindsInOrder) {
  Cable cable(OwnWire("csum6"));
  constexpr size_t kCount = 32;
  std::array<ibv_sge, kCount> sges;
  std::array<ibv_send_wr, kCount> list{};
  std::vector<Bytes> want;
  for (size_t i = 0; i < kCount; ++i) {
    const Bytes good = TcpFrame(20 + i, static_cast<uint16_t>(i));
    const bool is_checksummed = i % 3 == 1;
    want.push_back(is_checksummed ? good : Unfinished(good));
    Put(Unfinished(good), cable.a.Buffer(i));
    sges[i] = cable.a.Sge(i, static_cast<uint32_t>(good.size()));
    list[i].sg_list = &sges[i];
    list[i].num_sge = 1;
    list[i].opcode = IBV_WR_SEND;
    list[i].send_flags = is_checksummed ? kFlags : unsigned{IBV_SEND_SIGNALED};
    list[i].next = i + 1 < kCount ? &list[i + 1] : nullptr;
    ASSERT_EQ(cable.b.PostReceive(i), 0);
  }
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(cable.a.qp, list.data(), &bad), 0);
  ASSERT_EQ(cable.b.Poll(kCount).size(), kCount);
  for (size_t i = 0; i < kCount; ++i) {
    const auto got = cable.b.Buffer(i).first(want[i].size());
    EXPECT_EQ(Bytes(got.begin(), got.end()), want[i]) << i;
  }
  EXPECT_EQ(cable.a.Poll(kCount).size(), kCount);
}

}  // namespace
}  // namespace weir::hca
