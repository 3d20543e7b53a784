#include "weir/mbuf/share_packet.h"

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

class SharePacketTest : public ::testing::Test {
 protected:
  // A packet of segments with these lengths.
  Mbuf& Chain(const std::vector<size_t>& lengths) {
    Mbuf* first = nullptr;
    Mbuf* last = nullptr;
    for (const size_t length : lengths) {
      Mbuf& next = MakePacket(cache_, MakeFrame(length, 1 + lengths.size()));
      if (first == nullptr) {
        first = &next;
      } else {
        first->Append(*last, next);
      }
      last = &next;
    }
    return *first;
  }

  Lab lab_;
  MbufCache& cache_ = lab_.lcore.cache();
};

TEST_F(SharePacketTest, HasTheSameBytesInTheSameMemory) {
  MbufPtr packet(Chain({200, 300}), cache_);
  MbufPtr shared(*SharePacket(*packet, cache_), cache_);
  EXPECT_EQ(BytesOf(*shared), BytesOf(*packet));
  EXPECT_EQ(shared->data(), packet->data());
  EXPECT_EQ(shared->next()->data(), packet->next()->data());
  EXPECT_EQ(shared->frame_bytes(), 500);
  EXPECT_EQ(shared->segments(), 2);
}

TEST_F(SharePacketTest, TakesAlongWhatIsSaidOfThePacket) {
  MbufPtr packet(Chain({200}), cache_);
  packet->info().l3_offset = 14;
  packet->info().protocol = 17;
  packet->set_hash(7);
  packet->set_timestamp_ns(9);
  MbufPtr shared(*SharePacket(*packet, cache_), cache_);
  EXPECT_EQ(shared->info().l3_offset, 14);
  EXPECT_EQ(shared->info().protocol, 17);
  EXPECT_EQ(shared->hash(), 7);
  EXPECT_EQ(shared->timestamp_ns(), 9);
}

TEST_F(SharePacketTest, OutlivesThePacket) {
  const auto bytes = MakeFrame(400, 2);
  MbufPtr shared = [&] {
    MbufPtr packet(MakePacket(cache_, bytes), cache_);
    return MbufPtr(*SharePacket(*packet, cache_), cache_);
  }();
  EXPECT_EQ(BytesOf(*shared), bytes);
  EXPECT_EQ(lab_.pool->used_mbufs(), 2);
}

TEST_F(SharePacketTest, SharesWhatIsShared) {
  MbufPtr packet(Chain({400}), cache_);
  MbufPtr one(*SharePacket(*packet, cache_), cache_);
  MbufPtr two(*SharePacket(*one, cache_), cache_);
  EXPECT_EQ(two->data(), packet->data());
}

TEST_F(SharePacketTest, LeavesOutEmptySegments) {
  MbufPtr packet(Chain({0, 200, 0, 100}), cache_);
  MbufPtr shared(*SharePacket(*packet, cache_), cache_);
  EXPECT_EQ(shared->segments(), 2);
  EXPECT_EQ(BytesOf(*shared), BytesOf(*packet));
}

TEST_F(SharePacketTest, CopiesWhatIsShort) {
  for (const size_t length : {0U, 60U, 127U}) {
    MbufPtr packet(Chain({length}), cache_);
    MbufPtr copy(*SharePacket(*packet, cache_), cache_);
    EXPECT_EQ(BytesOf(*copy), BytesOf(*packet));
    EXPECT_TRUE(packet->is_plain());
    EXPECT_TRUE(copy->is_plain());
  }
}

TEST_F(SharePacketTest, LeavesNothingBehindWhenMbufsRunOut) {
  MbufPtr packet(Chain({200, 200, 200}), cache_);
  std::vector<Mbuf*> rest(lab_.pool->mbufs());
  rest.resize(cache_.Alloc(rest));
  cache_.FreeSegments({&rest.back(), 1});
  rest.pop_back();
  EXPECT_EQ(SharePacket(*packet, cache_), nullptr);
  EXPECT_FALSE(packet->is_shared());
  cache_.FreeSegments(rest);
}

}  // namespace
}  // namespace weir
