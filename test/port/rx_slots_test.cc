#include "weir/port/rx_slots.h"

#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/fake_queues.h"
#include "weir/mbuf/mbuf_ptr.h"

namespace weir {
namespace {

using testing::BytesOf;
using testing::FrameBytes;
using testing::Lab;

constexpr uint32_t kLkey = 77;

// What a device does: writes `frame` to the scatter list.
void Scatter(const ibv_sge* sges, const FrameBytes& frame) {
  size_t done = 0;
  for (; done < frame.size(); ++sges) {
    const size_t part = std::min<size_t>(frame.size() - done, sges->length);
    std::memcpy(reinterpret_cast<void*>(sges->addr), &frame[done], part);
    done += part;
  }
}

// The frame of `bytes` in `slot`.
MbufPtr Take(RxSlots& slots, uint32_t slot, uint32_t bytes, Lab& lab) {
  ibv_wc completion{};
  completion.byte_len = bytes;
  Burst burst(lab.lcore.cache());
  EXPECT_EQ(slots.Take(slot, {&completion, 1}, burst), bytes);
  Mbuf& packet = burst[0];
  burst.ReleaseAll();
  return {packet, lab.lcore.cache()};
}

FrameBytes CountingFrame(size_t bytes) {
  FrameBytes frame(bytes);
  for (size_t i = 0; i < bytes; ++i) frame[i] = std::byte(i * 7);
  return frame;
}

TEST(SegmentsForTest, LeavesTheHeadroomFreeInTheFirstOnly) {
  EXPECT_EQ(SegmentsFor(1, 2048, 128), 1u);
  EXPECT_EQ(SegmentsFor(1920, 2048, 128), 1u);
  EXPECT_EQ(SegmentsFor(1921, 2048, 128), 2u);
  EXPECT_EQ(SegmentsFor(1920 + 2048, 2048, 128), 2u);
  EXPECT_EQ(SegmentsFor(1920 + 2048 + 1, 2048, 128), 3u);
  EXPECT_EQ(SegmentsFor(65557, 2048, 128), 33u);
}

TEST(ColoursForTest, UsesTheRoomBehindTheLongestFrame) {
  // 398 bytes are left of a chunk.
  EXPECT_EQ(ColoursFor(1522, 2048, 128), 4u);
  EXPECT_EQ(ColoursFor(1920 - 7 * 64, 2048, 128), 8u);
  EXPECT_EQ(ColoursFor(1920 - 7 * 64 + 1, 2048, 128), 4u);
  EXPECT_EQ(ColoursFor(64, 2048, 128), 8u);
  EXPECT_EQ(ColoursFor(1920 - 64, 2048, 128), 2u);
  EXPECT_EQ(ColoursFor(1920 - 63, 2048, 128), 1u);
  EXPECT_EQ(ColoursFor(1920, 2048, 128), 1u);
  EXPECT_EQ(ColoursFor(9000, 2048, 128), 1u);
}

// Lines that are next to each other in the caches, and room for the longest
// frame behind each.
TEST(RxSlotsTest, BeginsFramesInPlacesThatDiffer) {
  Lab lab;
  RxSlots slots(*lab.pool, 8, 1, kLkey, 4);
  ASSERT_EQ(slots.Fill(0, 8, lab.lcore.cache()), 8u);
  const uint32_t chunk = lab.pool->chunk_bytes();
  const uint32_t headroom = lab.pool->headroom_bytes();
  for (uint32_t slot = 0; slot < 8; ++slot) {
    const ibv_sge& sge = *slots.scatter_list(slot);
    EXPECT_EQ(sge.addr % chunk, headroom + 64 * (slot % 4)) << slot;
    EXPECT_EQ(sge.length, chunk - headroom - 3 * 64);
    EXPECT_LE(sge.addr % chunk + sge.length, chunk);
    const FrameBytes frame = CountingFrame(sge.length);
    Scatter(&sge, frame);
    const MbufPtr packet = Take(slots, slot, sge.length, lab);
    EXPECT_EQ(BytesOf(*packet), frame);
    EXPECT_GE(packet->headroom_bytes(), headroom);
  }
}

TEST(RxSlotsTest, PostsTheChunkBehindTheHeadroom) {
  Lab lab;
  RxSlots slots(*lab.pool, 8, 1, kLkey);
  ASSERT_EQ(slots.Fill(0, 8, lab.lcore.cache()), 8u);
  std::set<uint64_t> addresses;
  for (uint32_t i = 0; i < 8; ++i) {
    const ibv_sge& sge = *slots.scatter_list(i);
    EXPECT_EQ(sge.length, 2048u - 128u);
    EXPECT_EQ(sge.lkey, kLkey);
    addresses.insert(sge.addr);
  }
  EXPECT_EQ(addresses.size(), 8u);
  EXPECT_EQ(lab.pool->used_mbufs(), 8u);
  EXPECT_EQ(slots.held_mbufs(), 8u);
}

TEST(RxSlotsTest, NotesWhatTheDeviceSaysOfChecksums) {
  Lab lab;
  for (const uint32_t segments : {1u, 3u}) {
    RxSlots slots(*lab.pool, 8, segments, kLkey);
    ASSERT_EQ(slots.Fill(0, 2, lab.lcore.cache()), 2u);
    std::vector<ibv_wc> completions(2);
    for (ibv_wc& completion : completions) completion.byte_len = 60;
    completions[1].wc_flags = IBV_WC_IP_CSUM_OK;
    Burst burst(lab.lcore.cache());
    slots.Take(0, completions, burst);
    ASSERT_EQ(burst.size(), 2u);
    EXPECT_EQ(burst[0].info().flags, 0);
    EXPECT_EQ(burst[1].info().flags, PacketInfo::kDeviceChecked);
  }
}

TEST(RxSlotsTest, GivesTheFrameOfASlotAndRefillsIt) {
  Lab lab;
  RxSlots slots(*lab.pool, 8, 1, kLkey);
  ASSERT_EQ(slots.Fill(0, 8, lab.lcore.cache()), 8u);
  for (uint32_t i = 0; i < 50; ++i) {
    const FrameBytes frame = CountingFrame(60 + i);
    Scatter(slots.scatter_list(i), frame);
    const MbufPtr packet = Take(slots, i, 60 + i, lab);
    EXPECT_EQ(BytesOf(*packet), frame);
    EXPECT_EQ(slots.Fill(i, 1, lab.lcore.cache()), 1u);
  }
  EXPECT_EQ(slots.held_mbufs(), 8u);
}

TEST(RxSlotsTest, ChainsAsManyMbufsAsTheFrameNeeds) {
  Lab lab;
  RxSlots slots(*lab.pool, 4, 5, kLkey);
  ASSERT_EQ(slots.Fill(0, 4, lab.lcore.cache()), 4u);
  uint32_t slot = 0;
  for (const uint32_t bytes :
       {1u, 60u, 1920u, 1921u, 3968u, 3969u, 9022u, 10112u}) {
    const FrameBytes frame = CountingFrame(bytes);
    Scatter(slots.scatter_list(slot), frame);
    const MbufPtr packet = Take(slots, slot, bytes, lab);
    EXPECT_EQ(BytesOf(*packet), frame);
    EXPECT_EQ(packet->frame_bytes(), bytes);
    EXPECT_EQ(packet->segments(), SegmentsFor(bytes, 2048, 128));
    ASSERT_EQ(slots.Fill(slot, 1, lab.lcore.cache()), 1u);
    ++slot;
  }
  EXPECT_EQ(slots.held_mbufs(), 20u);
}

TEST(RxSlotsTest, AShortFrameLeavesTheOtherMbufsInTheSlot) {
  Lab lab;
  RxSlots slots(*lab.pool, 4, 5, kLkey);
  ASSERT_EQ(slots.Fill(0, 4, lab.lcore.cache()), 4u);
  const uint64_t second = slots.scatter_list(0)[1].addr;
  const MbufPtr packet = Take(slots, 0, 60, lab);
  EXPECT_EQ(packet->segments(), 1u);
  EXPECT_EQ(slots.held_mbufs(), 19u);
  ASSERT_EQ(slots.Fill(0, 1, lab.lcore.cache()), 1u);
  EXPECT_EQ(slots.scatter_list(0)[1].addr, second);
}

TEST(RxSlotsTest, KeepsWhatADryPoolGaveAndGoesOnLater) {
  Lab lab(1);
  const uint32_t mbufs = lab.pool->mbufs();
  const uint32_t complete = mbufs / 5;
  // The slot after the complete ones gets some, but not all.
  ASSERT_NE(mbufs % 5, 0u);
  ASSERT_LT(complete, 64u);
  RxSlots slots(*lab.pool, 64, 5, kLkey);
  EXPECT_EQ(slots.Fill(0, 64, lab.lcore.cache()), complete);
  EXPECT_EQ(slots.held_mbufs(), mbufs);
  EXPECT_EQ(lab.pool->used_mbufs(), mbufs);
  // The five of the first frame, freed, fill the incomplete slot and more.
  { const MbufPtr packet = Take(slots, 0, 10112, lab); }
  EXPECT_EQ(slots.Fill(complete, 64 - complete, lab.lcore.cache()), 1u);
  EXPECT_EQ(slots.held_mbufs(), mbufs);
}

TEST(RxSlotsTest, LeavesSlotsAloneThatHaveTheirMbuf) {
  Lab lab;
  RxSlots slots(*lab.pool, 8, 1, kLkey);
  ASSERT_EQ(slots.Fill(0, 8, lab.lcore.cache()), 8u);
  const uint64_t kept = slots.scatter_list(1)->addr;
  { const MbufPtr packet = Take(slots, 0, 60, lab); }
  { const MbufPtr packet = Take(slots, 2, 60, lab); }
  EXPECT_EQ(slots.Fill(0, 8, lab.lcore.cache()), 8u);
  EXPECT_EQ(slots.scatter_list(1)->addr, kept);
  EXPECT_EQ(slots.held_mbufs(), 8u);
  EXPECT_EQ(lab.pool->used_mbufs(), 8u);
}

TEST(RxSlotsTest, ReturnsItsMbufsWhenItGoes) {
  Lab lab;
  {
    RxSlots slots(*lab.pool, 8, 3, kLkey);
    ASSERT_EQ(slots.Fill(0, 8, lab.lcore.cache()), 8u);
    const MbufPtr packet = Take(slots, 0, 3000, lab);
    RxSlots moved(std::move(slots));
    RxSlots other(*lab.pool, 2, 1, kLkey);
    ASSERT_EQ(other.Fill(0, 2, lab.lcore.cache()), 2u);
    other = std::move(moved);
    EXPECT_EQ(other.held_mbufs(), 22u);
    EXPECT_EQ(lab.pool->used_mbufs(), 24u);
  }
  EXPECT_EQ(lab.pool->used_mbufs(), 0u);
}

}  // namespace
}  // namespace weir
