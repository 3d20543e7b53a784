#include "weir/stage/stream/sequence.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/expect_conserved.h"
#include "test/support/fake_queues.h"
#include "test/support/frame.h"
#include "weir/net/ip_text.h"
#include "weir/pipeline/pipeline.h"
#include "weir/stage/parse.h"
#include "weir/stage/udp/sequence_stamp.h"

namespace weir::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kGroupA = "233.252.0.1";
constexpr const char* kGroupB = "233.252.0.2";

uint64_t NowNs() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count());
}

Bytes Stamped(const std::string& group, uint64_t number, uint64_t sent_ns = 1,
              const std::string& source = "192.0.2.1") {
  Bytes payload(30);
  WriteSequenceStamp(payload, number, sent_ns);
  Frame frame;
  if (group.find(':') == std::string::npos) {
    frame.Ipv4(source, group);
  } else {
    frame.Ipv6("2001:db8::1", group);
  }
  return frame.Udp(3000, 5000).Raw(payload).Build();
}

// RFC 3550 §5.1: version 2, payload type 33.
Bytes Rtp(const std::string& group, int number, int ssrc, int type = 33) {
  return Frame()
      .Ipv4("192.0.2.1", group)
      .Udp(3000, 5000)
      .Raw({0x80, type, number >> 8, number & 0xff, 0, 0, 0, 0, 0, 0, 0, ssrc})
      .Payload(20)
      .Build();
}

class Rig {
 public:
  explicit Rig(const SequenceOptions& options)
      : Rig(*Sequence::Create(options)) {}
  ~Rig() { ExpectConserved(pipeline_.Snapshot()); }

  size_t Run(const std::vector<Bytes>& frames) {
    traffic_.frames.assign(frames.begin(), frames.end());
    while (pipeline_.Poll(lab_.lcore) != 0) {
    }
    return std::exchange(sink_.frames, {}).size();
  }
  uint64_t drops(size_t reason) const {
    return pipeline_.Snapshot().stages[2].drops[reason].packets;
  }
  const SequenceStats& stats() const { return *stats_; }

 private:
  explicit Rig(Sequence stage)
      : stats_(stage.stats()),
        pipeline_(FakeInlet(traffic_), Parse(), std::move(stage),
                  FakeOutlet(sink_)) {}

  Lab lab_;
  FakeTraffic traffic_;
  FakeSink sink_;
  std::shared_ptr<const SequenceStats> stats_;
  Pipeline<FakeInlet, Parse, Sequence, FakeOutlet> pipeline_;
};

SequenceOptions Pair(SequenceKind kind = SequenceKind::kWeir) {
  return {.kind = kind,
          .pairs = {{{*net::ParseIpAddress(kGroupA),
                      *net::ParseIpAddress(kGroupB)}}}};
}

TEST(SequenceTest, FollowsTheStreamOfEachSender) {
  Rig rig({});
  EXPECT_EQ(rig.Run({Stamped(kGroupA, 0), Stamped(kGroupA, 3),
                     Stamped(kGroupA, 7, 1, "192.0.2.2"),
                     Stamped("ff3e::8000:1", 9), Stamped(kGroupA, 3)}),
            5U);
  auto streams = rig.stats().Streams();
  ASSERT_THAT(streams, SizeIs(3));
  for (const StreamReport& stream : streams) {
    const std::string source = net::ToString(stream.name.source);
    EXPECT_EQ(stream.name.source_port, 3000);
    EXPECT_EQ(stream.name.destination_port, 5000);
    if (source == "192.0.2.1") {
      EXPECT_EQ(net::ToString(stream.name.destination), kGroupA);
      EXPECT_EQ(stream.totals,
                (SequenceTotals{.received = 2, .lost = 2, .duplicates = 1}));
    } else {
      EXPECT_EQ(stream.totals, (SequenceTotals{.received = 1})) << source;
    }
  }
}

TEST(SequenceTest, PassesWhatHasNoNumber) {
  Rig rig({});
  Bytes other(24, std::byte{1});
  EXPECT_EQ(
      rig.Run({Frame().Ipv4("192.0.2.1", kGroupA).Udp(1, 2).Payload(9).Build(),
               Frame().Ipv4("192.0.2.1", kGroupA).Udp(1, 2).Raw(other).Build(),
               // Its padding is no stamp.
               Frame().Ipv4("192.0.2.1", kGroupA).Udp(1, 2).PadTo(66).Build(),
               Frame().Ipv4("192.0.2.1", kGroupA).Tcp(1, 2).Build()}),
      4U);
  EXPECT_EQ(rig.stats().unnumbered(), 3U);
  EXPECT_THAT(rig.stats().Streams(), IsEmpty());
}

TEST(SequenceTest, MeasuresHowLongDatagramsWereUnderWay) {
  Rig rig({});
  const uint64_t now = NowNs();
  rig.Run({Stamped(kGroupA, 0, now - 5'000'000'000),
           Stamped(kGroupA, 1, now + 60'000'000'000)});
  const LatencySnapshot latency = rig.stats().Latency();
  EXPECT_EQ(latency.count, 1U);
  EXPECT_EQ(latency.negative, 1U);
  EXPECT_GE(latency.max_ns, 5'000'000'000U);
  EXPECT_LT(latency.max_ns, 50'000'000'000U);
}

TEST(SequenceTest, FollowsEachSourceOfRtp) {
  Rig rig({.kind = SequenceKind::kRtp});
  EXPECT_EQ(rig.Run({Rtp(kGroupA, 65535, 1), Rtp(kGroupA, 0, 1),
                     Rtp(kGroupA, 500, 2), Rtp(kGroupA, 2, 1),
                     // RTCP on the same port (RFC 5761 §4).
                     Rtp(kGroupA, 9, 1, 200)}),
            5U);
  EXPECT_EQ(rig.stats().unnumbered(), 1U);
  auto streams = rig.stats().Streams();
  ASSERT_THAT(streams, SizeIs(2));
  for (const StreamReport& stream : streams) {
    EXPECT_EQ(stream.totals, stream.name.id == 1
                                 ? (SequenceTotals{.received = 3, .lost = 1})
                                 : (SequenceTotals{.received = 1}));
  }
  EXPECT_EQ(rig.stats().Latency().count, 0U);
}

TEST(SequenceTest, LetsTheFirstOfTwoLinesPass) {
  Rig rig(Pair());
  EXPECT_EQ(
      rig.Run({Stamped(kGroupA, 0), Stamped(kGroupB, 0), Stamped(kGroupB, 1),
               Stamped(kGroupA, 2), Stamped(kGroupA, 1), Stamped(kGroupA, 2000),
               Stamped(kGroupB, 3)}),
      4U);
  EXPECT_EQ(rig.drops(0), 2U);
  EXPECT_EQ(rig.drops(1), 1U);
  EXPECT_THAT(rig.stats().Streams(), IsEmpty());
  const auto pairs = rig.stats().Pairs();
  ASSERT_THAT(pairs, SizeIs(1));
  EXPECT_EQ(pairs[0].merged.received, 4U);
  EXPECT_EQ(pairs[0].first[0], 3U);
  EXPECT_EQ(pairs[0].first[1], 1U);
  EXPECT_EQ(pairs[0].filled_on(0), 0U);
  EXPECT_EQ(pairs[0].filled_on(1), 1U);
}

TEST(SequenceTest, KeepsSourcesOfRtpOnTwoLinesApart) {
  Rig rig(Pair(SequenceKind::kRtp));
  EXPECT_EQ(rig.Run({Rtp(kGroupA, 7, 1), Rtp(kGroupA, 7, 2), Rtp(kGroupB, 7, 1),
                     Rtp(kGroupB, 8, 2)}),
            3U);
  EXPECT_THAT(rig.stats().Pairs(), SizeIs(2));
}

TEST(SequenceTest, FollowsOtherGroupsBesidePairs) {
  Rig rig(Pair());
  EXPECT_EQ(rig.Run({Stamped("233.252.0.9", 0), Stamped("233.252.0.9", 0)}),
            2U);
  EXPECT_THAT(rig.stats().Streams(), SizeIs(1));
}

TEST(SequenceTest, RefusesAGroupThatIsOnTwoLines) {
  SequenceOptions options = Pair();
  options.pairs.push_back(
      {{*net::ParseIpAddress("233.252.0.3"), *net::ParseIpAddress(kGroupA)}});
  EXPECT_THAT(std::string(Sequence::Create(options).status().message()),
              ::testing::HasSubstr("233.252.0.1: want each group on one line"));
}

}  // namespace
}  // namespace weir::testing
