// IBV_WR_TSO through the verbs API: what arrives at the other end of a wire,
// against frames that test/support/frame makes whole.

#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/hca/verbs_rig.h"
#include "test/support/frame.h"
#include "test/support/own_wire.h"

namespace weir::hca {
namespace {

constexpr uint16_t kMss = 500;

Bytes Header(bool is_ipv6 = false) {
  Frame frame = is_ipv6 ? Frame().Ipv6("2001:db8::1", "2001:db8::2")
                        : Frame().Ipv4("192.0.2.1", "192.0.2.2", {.id = 7});
  return frame.Tcp(80, 4000, {.sequence = 1000, .flags = 0x18}).Build();
}

// Segment `i` of `payload`.
Bytes Segment(const Bytes& payload, size_t i, bool is_ipv6 = false) {
  const size_t at = i * kMss;
  const size_t bytes = std::min<size_t>(kMss, payload.size() - at);
  const bool is_last = at + bytes == payload.size();
  Frame frame = is_ipv6 ? Frame().Ipv6("2001:db8::1", "2001:db8::2")
                        : Frame().Ipv4("192.0.2.1", "192.0.2.2",
                                       {.id = static_cast<uint16_t>(7 + i)});
  return frame
      .Tcp(80, 4000,
           {.sequence = 1000 + static_cast<uint32_t>(at),
            .flags = static_cast<uint8_t>(is_last ? 0x18 : 0x10)})
      .Raw(std::span(payload).subspan(at, bytes))
      .Build();
}

// The two ends of a wire; the second takes everything.
struct Cable {
  explicit Cable(const std::string& key)
      : a({.key = key, .inline_bytes = 256, .max_tso_header_bytes = 128}),
        b({.key = key}) {
    a.MoveTo(IBV_QPS_RTS);
    b.MoveTo(IBV_QPS_RTS);
    b.TakeEverything();
  }

  // Posts `payload` from the buffers of `a`, 2,000 bytes in each.
  int Post(const Bytes& header, const Bytes& payload,
           unsigned flags = IBV_SEND_SIGNALED, uint16_t mss = kMss) {
    std::vector<ibv_sge> sges;
    for (size_t at = 0; at < payload.size(); at += 2000) {
      const size_t bytes = std::min<size_t>(2000, payload.size() - at);
      const auto from = payload.begin() + static_cast<std::ptrdiff_t>(at);
      std::copy_n(from, bytes, a.Buffer(next_).begin());
      sges.push_back(a.Sge(next_, static_cast<uint32_t>(bytes)));
      next_ = (next_ + 1) % VerbsRig::kBuffers;
    }
    Bytes copy = header;
    ibv_send_wr wr{};
    wr.wr_id = 77;
    wr.sg_list = sges.data();
    wr.num_sge = static_cast<int>(sges.size());
    wr.opcode = IBV_WR_TSO;
    wr.send_flags = flags;
    wr.tso.hdr = copy.data();
    wr.tso.hdr_sz = static_cast<uint16_t>(copy.size());
    wr.tso.mss = mss;
    ibv_send_wr* bad = nullptr;
    const int error = ibv_post_send(a.qp, &wr, &bad);
    EXPECT_EQ(bad, error == 0 ? nullptr : &wr);
    // Both belong to the program again.
    std::fill(copy.begin(), copy.end(), std::byte{0xff});
    return error;
  }

  Bytes Next() {
    EXPECT_EQ(b.PostReceive(0), 0);
    const auto done = b.Poll(1);
    if (done.empty()) return {};
    const auto got = b.Buffer(0).first(done[0].byte_len);
    return {got.begin(), got.end()};
  }

  // What one poll of the sender completes; it also sends what waits.
  size_t PollOnce() {
    ibv_wc done;
    return static_cast<size_t>(ibv_poll_cq(a.cq, 1, &done));
  }

  VerbsRig a;
  VerbsRig b;

 private:
  size_t next_ = 0;
};

TEST(TsoTest, SendsWhatAStackWithoutOffloadWould) {
  Cable cable(OwnWire("tso1"));
  for (const bool is_ipv6 : {false, true}) {
    for (const size_t total : {1u, 499u, 500u, 501u, 7777u}) {
      const Bytes payload = RandomBytes(total, total);
      ASSERT_EQ(cable.Post(Header(is_ipv6), payload), 0);
      for (size_t i = 0; i * kMss < total; ++i) {
        EXPECT_EQ(Hex(cable.Next()), Hex(Segment(payload, i, is_ipv6)));
      }
      const auto done = cable.a.Poll(2);
      ASSERT_EQ(done.size(), 1u);
      EXPECT_EQ(done[0].opcode, IBV_WC_TSO);
      EXPECT_EQ(done[0].status, IBV_WC_SUCCESS);
      EXPECT_EQ(done[0].wr_id, 77u);
    }
  }
}

TEST(TsoTest, TakesItsPayloadInline) {
  Cable cable(OwnWire("tso2"));
  const Bytes payload = RandomBytes(200, 1);
  ASSERT_EQ(cable.Post(Header(), payload, IBV_SEND_INLINE, 150), 0);
  for (auto& byte : cable.a.Buffer(0)) byte = {};
  Bytes got = cable.Next();
  EXPECT_EQ(got.size(), 54u + 150);
  EXPECT_TRUE(std::equal(got.begin() + 54, got.end(), payload.begin()));
  got = cable.Next();
  EXPECT_TRUE(std::equal(got.begin() + 54, got.end(), payload.begin() + 150));
  EXPECT_EQ(cable.Post(Header(), RandomBytes(257, 1), IBV_SEND_INLINE), EINVAL);
}

TEST(TsoTest, GoesOnInTheMiddleOfARequestWhenTheMediumWasFull) {
  // Room for a few segments, so that every request stops somewhere inside.
  Cable cable(OwnWire("tso3,bytes=4096"));
  std::vector<Bytes> payloads;
  for (uint64_t i = 0; i < 6; ++i) {
    payloads.push_back(RandomBytes(7000 + i, i));
    ASSERT_EQ(cable.Post(Header(), payloads.back()), 0);
    // A plain frame in between keeps its place.
    ASSERT_EQ(cable.a.PostSend(60, 60, 0), 0);
  }
  size_t completed = cable.PollOnce();
  EXPECT_EQ(completed, 0u);
  for (const Bytes& payload : payloads) {
    for (size_t i = 0; i * kMss < payload.size(); ++i) {
      EXPECT_EQ(cable.Next(), Segment(payload, i));
      completed += cable.PollOnce();
    }
    EXPECT_EQ(cable.Next().size(), 60u);
    completed += cable.PollOnce();
  }
  EXPECT_EQ(completed, payloads.size());
  EXPECT_EQ(cable.a.Counter("tx_frames"), 14u + 5 * 15 + 6);
}

TEST(TsoTest, CountsTheSegmentsThatAResetLeavesUnsent) {
  Cable cable(OwnWire("tso4,bytes=4096"));
  ASSERT_EQ(cable.Post(Header(), RandomBytes(7500, 1)), 0);
  ASSERT_EQ(cable.Post(Header(), RandomBytes(7500, 1)), 0);
  const uint64_t sent = cable.a.Counter("tx_frames");
  EXPECT_GT(sent, 0u);
  EXPECT_LT(sent, 15u);
  ASSERT_EQ(cable.a.Modify(IBV_QPS_RESET), 0);
  EXPECT_EQ(cable.a.Counter("tx_dropped"), 30 - sent);
  // What comes after begins at its own first segment.
  cable.a.MoveTo(IBV_QPS_RTS);
  for (uint64_t i = 0; i < sent; ++i) cable.Next();
  const Bytes payload = RandomBytes(900, 2);
  ASSERT_EQ(cable.Post(Header(), payload), 0);
  EXPECT_EQ(cable.Next(), Segment(payload, 0));
  EXPECT_EQ(cable.Next(), Segment(payload, 1));
}

TEST(TsoTest, RefusesBadArguments) {
  Cable cable(OwnWire("tso5"));
  const Bytes payload = RandomBytes(1000, 1);
  const Bytes good = Header();
  EXPECT_EQ(cable.Post(good, payload, 0, 0), EINVAL);
  EXPECT_EQ(cable.Post(Bytes(good.begin(), good.end() - 1), payload), EINVAL);
  EXPECT_EQ(cable.Post({}, payload), EINVAL);
  Bytes longer = good;
  longer.resize(good.size() + 1);
  EXPECT_EQ(cable.Post(longer, payload), EINVAL);
  const Bytes options =
      Frame()
          .Ipv4("192.0.2.1", "192.0.2.2", {.options = Bytes(40)})
          .Tcp(1, 2)
          .Build();
  ASSERT_EQ(options.size(), 94u);
  EXPECT_EQ(cable.Post(options, payload), 0);
  Frame tagged;
  tagged.Eth(kTestMacA, kTestMacB);
  for (int i = 0; i < 10; ++i) tagged.Vlan(7);
  const Bytes long_header =
      tagged.Ipv4("192.0.2.1", "192.0.2.2", {.options = Bytes(40)})
          .Tcp(1, 2)
          .Build();
  ASSERT_GT(long_header.size(), 128u);
  EXPECT_EQ(cable.Post(long_header, payload), EINVAL);
  EXPECT_EQ(cable.Post(Frame().Ipv4("192.0.2.1", "192.0.2.2").Udp(1, 2).Build(),
                       payload),
            EINVAL);
}

TEST(TsoTest, FailsTheQueuePairForAPayloadOutsideOfItsRegion) {
  Cable cable(OwnWire("tso6"));
  const Bytes header = Header();
  ibv_sge sge = cable.a.Sge(0, 1000);
  sge.lkey += 12345;
  ibv_send_wr wr{};
  wr.wr_id = 5;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_TSO;
  Bytes copy = header;
  wr.tso = {.hdr = copy.data(),
            .hdr_sz = static_cast<uint16_t>(copy.size()),
            .mss = kMss};
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(cable.a.qp, &wr, &bad), 0);
  const auto done = cable.a.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].wr_id, 5u);
  EXPECT_EQ(done[0].status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(cable.a.state(), IBV_QPS_ERR);
}

TEST(TsoTest, IsOnlyForQueuePairsThatWereMadeForIt) {
  VerbsRig rig;
  rig.MoveTo(IBV_QPS_RTS);
  Bytes header = Header();
  ibv_sge sge = rig.Sge(0, 1000);
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_TSO;
  wr.tso = {.hdr = header.data(),
            .hdr_sz = static_cast<uint16_t>(header.size()),
            .mss = kMss};
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(rig.qp, &wr, &bad), EINVAL);
}

TEST(TsoTest, IsACapabilityOfTheDevice) {
  VerbsRig rig;
  ibv_device_attr_ex attr{};
  ASSERT_EQ(ibv_query_device_ex(rig.context, nullptr, &attr), 0);
  EXPECT_EQ(attr.tso_caps.max_tso, 256u << 10);
  EXPECT_EQ(attr.tso_caps.supported_qpts, 1u << IBV_QPT_RAW_PACKET);
}

}  // namespace
}  // namespace weir::hca
