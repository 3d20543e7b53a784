// What the stage Fragment does with mbufs and bursts.

#include <array>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/stage/fragment_rig.h"
#include "test/support/frame.h"
#include "test/support/naive_fragments.h"
#include "weir/stage/fragment.h"

namespace weir {
namespace {

using testing::ExpectFragmentsOf;
using testing::FragmentRig;
using ::testing::IsEmpty;
using testing::MakeSegments;
using ::testing::SizeIs;
using Drop = Fragment::Drop;

Bytes Udp4(size_t data_bytes) {
  return Frame()
      .Ipv4("192.0.2.1", "198.51.100.2")
      .Udp(1000, 2000)
      .Payload(data_bytes)
      .Build();
}

TEST(FragmentMbufTest, PayloadIsNotCopied) {
  FragmentRig rig({.mtu_bytes = 576});
  Mbuf& packet = MakeSegments(rig.cache(), Udp4(1800), {UINT32_MAX});
  const std::byte* const begin = packet.data();
  const std::byte* const end = begin + packet.data_bytes();
  Burst burst(rig.cache());
  burst.Adopt(packet);
  rig.Step(burst);
  ASSERT_EQ(burst.size(), 4u);
  const std::byte* next = begin + 14 + 20;
  for (Mbuf* fragment : burst.mbufs()) {
    ASSERT_EQ(fragment->segments(), 2u);
    EXPECT_EQ(fragment->next()->data(), next);
    next += fragment->next()->data_bytes();
  }
  EXPECT_EQ(next, end);
  // Four headers, three references, and the packet.
  EXPECT_EQ(rig.pool().used_mbufs(), 8u);
}

TEST(FragmentMbufTest, KeepsWhatIsSaidOfThePacket) {
  FragmentRig rig({.mtu_bytes = 576});
  Mbuf& packet = MakeSegments(rig.cache(), Udp4(1000), {UINT32_MAX});
  packet.set_timestamp_ns(77);
  packet.set_hash(88);
  Burst burst(rig.cache());
  burst.Adopt(packet);
  rig.Step(burst);
  ASSERT_EQ(burst.size(), 2u);
  for (const Mbuf* fragment : burst.mbufs()) {
    EXPECT_EQ(fragment->timestamp_ns(), 77u);
    EXPECT_EQ(fragment->hash(), 88u);
  }
}

TEST(FragmentMbufTest, KeepsTheOrderOfPacketsOverSeveralBursts) {
  FragmentRig rig({.mtu_bytes = 68});
  std::vector<Bytes> frames;
  std::vector<Mbuf*> packets;
  for (const size_t bytes : {10, 1700, 20, 1800, 1500, 30}) {
    frames.push_back(Udp4(bytes));
    packets.push_back(&MakeSegments(rig.cache(), frames.back(), {100, 700}));
  }
  const std::vector<Bytes> out = rig.Run(packets);
  // 36, 38 and 32 fragments, and three packets: 109 frames.
  ASSERT_THAT(out, SizeIs(109));
  EXPECT_EQ(rig.bursts(), 2);
  EXPECT_EQ(out.front(), frames.front());
  EXPECT_EQ(out.back(), frames.back());
  EXPECT_EQ(out[37], frames[2]);
  ExpectFragmentsOf(frames[1], {out.begin() + 1, out.begin() + 37}, 68);
  ExpectFragmentsOf(frames[3], {out.begin() + 38, out.begin() + 76}, 68);
}

TEST(FragmentMbufTest, TheLongestDatagramTakesNoMoreThanABurst) {
  // 65535 bytes in segments of a chunk are 35 mbufs; 2 * 64 are for fragments.
  FragmentRig rig({.mtu_bytes = 68}, 256);
  const Bytes frame = Udp4(65507);
  const auto out = rig.Run({&MakeSegments(rig.cache(), frame, {1900})});
  ExpectFragmentsOf(frame, out, 68);
}

TEST(FragmentMbufTest, DropsAPacketWithoutMbufsForItsFragments) {
  FragmentRig rig({.mtu_bytes = 576}, 128);
  Mbuf& packet = MakeSegments(rig.cache(), Udp4(1800), {UINT32_MAX});
  std::vector<Mbuf*> rest(127);
  ASSERT_EQ(rig.cache().Alloc(rest), rest.size());
  EXPECT_THAT(rig.Run({&packet}), IsEmpty());
  EXPECT_EQ(rig.drops(Drop::kNoMbufs), 1u);
  EXPECT_EQ(rig.pool().used_mbufs(), 127u);
  rig.cache().FreeSegments(rest);
}

TEST(FragmentMbufTest, WaitsForMbufsThatTheBurstGivesBack) {
  FragmentRig rig({.mtu_bytes = 576}, 128);
  const Bytes frame = Udp4(1800);
  Mbuf& packet = MakeSegments(rig.cache(), frame, {UINT32_MAX});
  // Left: enough for two fragments.
  std::vector<Mbuf*> rest(123);
  ASSERT_EQ(rig.cache().Alloc(rest), rest.size());
  const auto out = rig.Run({&packet});
  ExpectFragmentsOf(frame, out, 576);
  EXPECT_EQ(rig.bursts(), 2);
  rig.cache().FreeSegments(rest);
}

TEST(FragmentMbufTest, CopiesWhatTheOutletHasTooFewSegmentsFor) {
  FragmentRig rig({.mtu_bytes = 1500, .max_segments = 4});
  const Bytes frame = Udp4(4000);
  const auto out = rig.Run({&MakeSegments(rig.cache(), frame, {100, 100})});
  ExpectFragmentsOf(frame, out, 1500);
  EXPECT_EQ(rig.most_segments(), 1u);
}

TEST(FragmentMbufTest, DropsWhatHasTooManySegmentsAndTooManyBytesToCopy) {
  FragmentRig rig({.mtu_bytes = 1500, .max_segments = 4}, 4096, 1024);
  EXPECT_THAT(rig.Run({&MakeSegments(rig.cache(), Udp4(4000), {100, 100})}),
              IsEmpty());
  EXPECT_EQ(rig.drops(Drop::kTooManySegments), 1u);
}

TEST(FragmentMbufTest, SkipsSegmentsWithoutBytes) {
  FragmentRig rig({.mtu_bytes = 576});
  const Bytes frame = Udp4(1800);
  Mbuf& packet = MakeSegments(rig.cache(), frame, {34});
  PacketInfo info = packet.info();
  Mbuf* last = &packet;
  while (last->next() != nullptr) last = last->next();
  packet.Append(*last, testing::MakePacket(rig.cache(), {}));
  packet.info() = info;
  ExpectFragmentsOf(frame, rig.Run({&packet}), 576);
}

TEST(FragmentMbufTest, FreesAndCountsWhatItHasWhenItIsClosed) {
  FragmentRig rig({.mtu_bytes = 68});
  Burst burst(rig.cache());
  for (int i = 0; i < 3; ++i) {
    burst.Adopt(MakeSegments(rig.cache(), Udp4(5000), {1000}));
  }
  rig.Step(burst);
  EXPECT_TRUE(rig.stage().more());
  EXPECT_EQ(rig.stage().counts().held.value(), 3u);
  rig.stage().Close(rig.lcore());
  EXPECT_FALSE(rig.stage().more());
  EXPECT_EQ(rig.stage().counts().held.value(), 0u);
  EXPECT_EQ(rig.drops(Drop::kStopped), 3u);
  burst.Clear();
}

}  // namespace
}  // namespace weir
