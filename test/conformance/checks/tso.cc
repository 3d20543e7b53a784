// TSO: one request, a header and a long payload, many TCP segments.

#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

constexpr unsigned kFlags = IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM;
constexpr uint8_t kPsh = 0x08;
constexpr uint8_t kFin = 0x01;
constexpr uint8_t kAck = 0x10;

// A QP that may send headers of 128 bytes, not a TestQp: those are made by
// ibv_create_qp.
class TsoQp {
 public:
  explicit TsoQp(Rig& rig, uint32_t send_sge = 4) : cq(rig), rig_(rig) {
    ibv_qp_init_attr_ex attr{};
    attr.send_cq = attr.recv_cq = cq.cq;
    attr.cap = InitAttributes(cq.cq, cq.cq, {.send_sge = send_sge}).cap;
    attr.qp_type = IBV_QPT_RAW_PACKET;
    attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
    attr.pd = rig.pd;
    attr.max_tso_header = 128;
    qp = ibv_create_qp_ex(rig.context, &attr);
    EXPECT_NE(qp, nullptr) << std::strerror(errno);
    if (qp == nullptr) return;
    for (const auto state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
      EXPECT_EQ(ModifyQp(qp, state), 0);
    }
  }
  TsoQp(const TsoQp&) = delete;
  TsoQp& operator=(const TsoQp&) = delete;
  ~TsoQp() {
    if (qp != nullptr) {
      EXPECT_EQ(ibv_destroy_qp(qp), 0);
    }
  }

  int Post(Bytes& header, uint16_t mss, std::span<ibv_sge> payload) {
    ibv_send_wr wr = SendRequest(5, payload, kFlags);
    wr.opcode = IBV_WR_TSO;
    wr.tso.hdr = header.data();
    wr.tso.hdr_sz = static_cast<uint16_t>(header.size());
    wr.tso.mss = mss;
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(qp, &wr, &bad);
  }
  int Post(Bytes& header, uint16_t mss, const Bytes& payload) {
    ibv_sge sge = rig_.Put(0, payload);
    return Post(header, mss, std::span(&sge, 1));
  }

  TestCq cq;
  ibv_qp* qp = nullptr;

 private:
  Rig& rig_;
};

// What varies from segment to segment.
struct Segment {
  uint16_t number = 0;
  uint32_t sequence = 0;
  uint8_t flags = kAck;
  Bytes payload = {};
};

Bytes OverIpv4(const Segment& segment) {
  constexpr uint16_t kFirstId = 1000;
  return Frame()
      .Eth(kTestMacB, kTestMacA)
      .Ipv4("10.0.0.1", "10.0.0.2",
            {.id = static_cast<uint16_t>(kFirstId + segment.number)})
      .Tcp(80, 81, {.sequence = segment.sequence, .flags = segment.flags})
      .Raw(segment.payload)
      .Build();
}

Bytes OverIpv6(const Segment& segment) {
  return Frame()
      .Eth(kTestMacB, kTestMacA)
      .Ipv6("fc00::1", "fc00::2")
      .Tcp(80, 81, {.sequence = segment.sequence, .flags = segment.flags})
      .Raw(segment.payload)
      .Build();
}

Bytes BehindATag(const Segment& segment) {
  Bytes frame = OverIpv4(segment);
  const Bytes tag = MakeBytes({0x81, 0, 0, 7});
  frame.insert(frame.begin() + 12, tag.begin(), tag.end());
  return frame;
}

constexpr uint32_t kSequence = 0xfffffff0;  // wraps around on the way

// The segments that `payload` should make, headers by `make`.
template <typename Make>
std::vector<Bytes> Segments(Make make, const Bytes& payload, size_t mss,
                            uint8_t flags = kAck) {
  std::vector<Bytes> frames;
  for (size_t at = 0; at < payload.size(); at += mss) {
    const size_t end = std::min(at + mss, payload.size());
    // FIN and PSH are of the last segment (as every TSO engine has it).
    const bool last = end == payload.size();
    frames.push_back(make(
        {.number = static_cast<uint16_t>(at / mss),
         .sequence = kSequence + static_cast<uint32_t>(at),
         .flags = last ? flags : static_cast<uint8_t>(flags & ~(kFin | kPsh)),
         .payload = Bytes(payload.begin() + static_cast<ptrdiff_t>(at),
                          payload.begin() + static_cast<ptrdiff_t>(end))}));
  }
  return frames;
}

template <typename Make>
void ExpectCut(Lab& lab, Make make, size_t payload_bytes, uint16_t mss,
               uint8_t flags = kAck) {
  Rig rig(lab);
  TsoQp qp(rig);
  ASSERT_NE(qp.qp, nullptr);
  const Bytes payload = RandomBytes(payload_bytes, 3);
  Bytes header = make({.sequence = kSequence, .flags = flags});
  ASSERT_EQ(qp.Post(header, mss, payload), 0);
  const auto frames = Segments(make, payload, mss, flags);
  EXPECT_EQ(lab.Observe(frames.size()), frames);
}

void CutsToTheMss(Lab& lab) { ExpectCut(lab, OverIpv4, 250, 100); }

void CutsWithoutARest(Lab& lab) { ExpectCut(lab, OverIpv4, 300, 100); }

void CutsIpv6(Lab& lab) { ExpectCut(lab, OverIpv6, 250, 100); }

void CutsBehindATag(Lab& lab) { ExpectCut(lab, BehindATag, 250, 100); }

void SendsWhatFitsAsOne(Lab& lab) { ExpectCut(lab, OverIpv4, 90, 100); }

void EndsTheStreamOnce(Lab& lab) {
  ExpectCut(lab, OverIpv4, 250, 100, kAck | kFin | kPsh);
}

void CutsAcrossSges(Lab& lab) {
  Rig rig(lab);
  TsoQp qp(rig);
  ASSERT_NE(qp.qp, nullptr);
  const Bytes payload = RandomBytes(6000, 4);
  std::vector<ibv_sge> sges;
  for (size_t i = 0; i < 4; ++i) {
    const auto at = payload.begin() + static_cast<ptrdiff_t>(i * 1500);
    sges.push_back(rig.Put(i, Bytes(at, at + 1500)));
  }
  Bytes header = OverIpv4({.sequence = kSequence});
  ASSERT_EQ(qp.Post(header, 1400, sges), 0);
  EXPECT_EQ(lab.Observe(5), Segments(OverIpv4, payload, 1400));
}

void CompletesOnce(Lab& lab) {
  Rig rig(lab);
  TsoQp qp(rig);
  ASSERT_NE(qp.qp, nullptr);
  Bytes header = OverIpv4({.sequence = kSequence});
  ASSERT_EQ(qp.Post(header, 100, RandomBytes(1000, 5)), 0);
  const auto done = qp.cq.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].wr_id, 5u);
  EXPECT_EQ(done[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(done[0].opcode, IBV_WC_TSO);
  EXPECT_TRUE(qp.cq.PollTimes(10).empty());
}

void HeaderIsCopiedAtOnce(Lab& lab) {
  Rig rig(lab);
  TsoQp qp(rig);
  ASSERT_NE(qp.qp, nullptr);
  const Bytes payload = RandomBytes(250, 6);
  Bytes header = OverIpv4({.sequence = kSequence});
  ASSERT_EQ(qp.Post(header, 100, payload), 0);
  std::ranges::fill(header, std::byte{0});
  EXPECT_EQ(lab.Observe(3), Segments(OverIpv4, payload, 100));
}

void KeepsItsPlaceAmongSends(Lab& lab) {
  Rig rig(lab);
  TsoQp qp(rig);
  ASSERT_NE(qp.qp, nullptr);
  const auto send_plain = [&](size_t index, int number) {
    ibv_sge sge = rig.Put(index, PlainFrame(60, number));
    ibv_send_wr wr = SendRequest(index, std::span(&sge, 1));
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(qp.qp, &wr, &bad), 0);
  };
  const Bytes payload = RandomBytes(250, 7);
  Bytes header = OverIpv4({.sequence = kSequence});
  send_plain(1, 1);
  ASSERT_EQ(qp.Post(header, 100, payload), 0);
  send_plain(2, 2);
  std::vector<Bytes> frames = Segments(OverIpv4, payload, 100);
  frames.insert(frames.begin(), PlainFrame(60, 1));
  frames.push_back(PlainFrame(60, 2));
  EXPECT_EQ(lab.Observe(5), frames);
  EXPECT_EQ(qp.cq.Poll(3).size(), 3u);
}

void WantsAMss(Lab& lab) {
  Rig rig(lab);
  TsoQp qp(rig);
  ASSERT_NE(qp.qp, nullptr);
  Bytes header = OverIpv4({.sequence = kSequence});
  EXPECT_EQ(qp.Post(header, 0, RandomBytes(250, 8)), EINVAL);
}

void RefusesALongerHeaderThanAskedFor(Lab& lab) {
  Rig rig(lab);
  TsoQp qp(rig);
  ASSERT_NE(qp.qp, nullptr);
  Bytes header(1000);
  EXPECT_NE(qp.Post(header, 100, RandomBytes(250, 9)), 0);
}

void QpHasToBeMadeForIt(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  Bytes header = OverIpv4({.sequence = kSequence});
  ibv_sge sge = rig.Put(0, RandomBytes(250, 10));
  ibv_send_wr wr = SendRequest(0, std::span(&sge, 1));
  wr.opcode = IBV_WR_TSO;
  wr.tso.hdr = header.data();
  wr.tso.hdr_sz = static_cast<uint16_t>(header.size());
  wr.tso.mss = 100;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(qp.qp, &wr, &bad), EINVAL);
  EXPECT_EQ(bad, &wr);
}

}  // namespace

CheckList TsoChecks() {
  static constexpr uint32_t kSeen = kTsoCap | kObserve;
  static constexpr Check kChecks[] = {
      {"tso.cuts_to_the_mss", kSeen, CutsToTheMss},
      {"tso.cuts_without_a_rest", kSeen, CutsWithoutARest},
      {"tso.cuts_ipv6", kSeen, CutsIpv6},
      {"tso.cuts_behind_a_tag", kSeen, CutsBehindATag},
      {"tso.sends_what_fits_as_one", kSeen, SendsWhatFitsAsOne},
      {"tso.ends_the_stream_once", kSeen, EndsTheStreamOnce},
      {"tso.cuts_across_sges", kSeen, CutsAcrossSges},
      {"tso.completes_once", kTsoCap, CompletesOnce},
      {"tso.header_is_copied_at_once", kSeen, HeaderIsCopiedAtOnce},
      {"tso.keeps_its_place_among_sends", kSeen, KeepsItsPlaceAmongSends},
      {"tso.wants_a_mss", kTsoCap | kStrict, WantsAMss},
      {"tso.refuses_a_longer_header_than_asked_for", kTsoCap,
       RefusesALongerHeaderThanAskedFor},
      {"tso.qp_has_to_be_made_for_it", kTsoCap | kStrict, QpHasToBeMadeForIt},
  };
  return kChecks;
}

}  // namespace weir::conformance
