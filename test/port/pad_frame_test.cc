#include "weir/port/pad_frame.h"

#include <array>

#include "gtest/gtest.h"
#include "test/support/fake_queues.h"
#include "weir/mbuf/mbuf_ptr.h"

namespace weir {
namespace {

using testing::BytesOf;
using testing::FrameBytes;
using testing::Lab;
using testing::MakeFrame;
using testing::MakePacket;

TEST(PadFrameTest, AddsZerosBehindAShortFrame) {
  Lab lab;
  MbufCache& cache = lab.lcore.cache();
  MbufPtr frame(MakePacket(cache, MakeFrame(60, 0xff)), cache);
  // Only what is padded may change.
  frame->SetLength(42);
  ASSERT_TRUE(PadFrame(*frame, 60, cache));
  FrameBytes expected = MakeFrame(42, 0xff);
  expected.resize(60);
  EXPECT_EQ(BytesOf(*frame), expected);
  EXPECT_EQ(frame->frame_bytes(), 60u);
  EXPECT_EQ(frame->headroom_bytes(), cache.pool().headroom_bytes());
}

TEST(PadFrameTest, JoinsAChainAndFreesItsTail) {
  Lab lab;
  MbufCache& cache = lab.lcore.cache();
  MbufPtr frame(MakePacket(cache, MakeFrame(34, 1)), cache);
  Mbuf& middle = MakePacket(cache, MakeFrame(5, 2));
  Mbuf& last = MakePacket(cache, MakeFrame(3, 3));
  frame->Append(*frame, middle);
  frame->Append(middle, last);
  ASSERT_TRUE(PadFrame(*frame, 60, cache));
  FrameBytes expected = MakeFrame(34, 1);
  expected.insert(expected.end(), 5, std::byte{2});
  expected.insert(expected.end(), 3, std::byte{3});
  expected.resize(60);
  EXPECT_EQ(BytesOf(*frame), expected);
  EXPECT_EQ(frame->segments(), 1u);
  EXPECT_EQ(lab.pool->used_mbufs(), 1u);
}

TEST(PadFrameTest, CopiesSharedPayloadAndLeavesItToItsOtherUsers) {
  Lab lab;
  MbufCache& cache = lab.lcore.cache();
  MbufPtr packet(MakePacket(cache, MakeFrame(100, 2)), cache);
  MbufPtr frame(MakePacket(cache, MakeFrame(34, 1)), cache);
  std::array<Mbuf*, 1> one{};
  ASSERT_EQ(cache.Alloc(one), 1u);
  cache.Refer(*one[0], *packet, *packet, 50, 5);
  frame->Append(*frame, *one[0]);
  // It may not be padded where it is: others' bytes lie behind its own.
  EXPECT_FALSE(PadFrame(*packet, 200, cache));
  ASSERT_TRUE(PadFrame(*frame, 60, cache));
  FrameBytes expected = MakeFrame(34, 1);
  expected.insert(expected.end(), 5, std::byte{2});
  expected.resize(60);
  EXPECT_EQ(BytesOf(*frame), expected);
  EXPECT_EQ(BytesOf(*packet), MakeFrame(100, 2));
  EXPECT_EQ(lab.pool->used_mbufs(), 2u);
}

TEST(PadFrameTest, LeavesAFrameWithoutTailroomAlone) {
  Lab lab;
  MbufCache& cache = lab.lcore.cache();
  MbufPtr frame(MakePacket(cache, MakeFrame(1, 1)), cache);
  frame->Reset(cache.pool().chunk_bytes() - 59);
  frame->SetLength(20);
  EXPECT_FALSE(PadFrame(*frame, 60, cache));
  EXPECT_EQ(frame->frame_bytes(), 20u);
}

}  // namespace
}  // namespace weir
