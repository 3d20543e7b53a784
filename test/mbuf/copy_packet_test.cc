#include "weir/mbuf/copy_packet.h"

#include <array>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/fake_queues.h"
#include "weir/mbuf/mbuf_ptr.h"

namespace weir {
namespace {

using testing::BytesOf;
using testing::Lab;
using testing::MakeFrame;
using testing::MakePacket;

TEST(CopyPacketTest, CopiesBytesAndSegmentsAndWhatIsSaidOfThem) {
  Lab lab;
  MbufCache& cache = lab.lcore.cache();
  MbufPtr packet(MakePacket(cache, MakeFrame(100, 1)), cache);
  packet->set_timestamp_ns(5);
  packet->set_hash(6);
  packet->info() = {.l3_offset = 14, .l3 = L3::kIpv4};
  std::array<Mbuf*, 2> more{};
  ASSERT_EQ(cache.Alloc(more), more.size());
  cache.Refer(*more[0], *packet, *packet, 10, 20);
  // A segment without headroom, as receives leave them behind the first one.
  more[1]->Reset(0);
  more[1]->SetLength(cache.pool().chunk_bytes());
  packet->Append(*packet, *more[0]);
  packet->Append(*more[0], *more[1]);

  MbufPtr copy(*CopyPacket(*packet, cache), cache);
  EXPECT_EQ(BytesOf(*copy), BytesOf(*packet));
  EXPECT_EQ(copy->frame_bytes(), packet->frame_bytes());
  EXPECT_EQ(copy->segments(), 3u);
  EXPECT_EQ(copy->timestamp_ns(), 5u);
  EXPECT_EQ(copy->hash(), 6u);
  EXPECT_EQ(copy->info(), packet->info());
  EXPECT_FALSE(copy->may_share());
  for (const Mbuf* at = copy.get(); at != nullptr; at = at->next()) {
    EXPECT_FALSE(at->is_shared());
  }
}

TEST(CopyPacketTest, LeavesNothingBehindWhenThereAreTooFewMbufs) {
  Lab lab(128);
  MbufCache& cache = lab.lcore.cache();
  MbufPtr packet(MakePacket(cache, MakeFrame(10, 1)), cache);
  Mbuf& second = MakePacket(cache, MakeFrame(10, 2));
  packet->Append(*packet, second);
  for (uint32_t left : {0u, 1u}) {
    std::vector<Mbuf*> rest(126 - left);
    ASSERT_EQ(cache.Alloc(rest), rest.size());
    EXPECT_EQ(CopyPacket(*packet, cache), nullptr);
    EXPECT_EQ(lab.pool->used_mbufs(), 128 - left);
    cache.FreeSegments(rest);
  }
}

}  // namespace
}  // namespace weir
