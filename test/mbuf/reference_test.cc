// Segments that point into the payload of others: who keeps what alive.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/fake_queues.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/mbuf/mbuf_ptr.h"

namespace weir {
namespace {

using testing::BytesOf;
using testing::FrameBytes;
using testing::Lab;
using testing::MakeFrame;
using testing::MakePacket;

class ReferenceTest : public ::testing::Test {
 protected:
  Mbuf& Alloc() {
    std::array<Mbuf*, 1> one{};
    EXPECT_EQ(cache_.Alloc(one), 1u);
    return *one[0];
  }
  Mbuf& Refer(Mbuf& packet, uint32_t offset, uint32_t bytes) {
    Mbuf& reference = Alloc();
    cache_.Refer(reference, packet, packet, offset, bytes);
    return reference;
  }
  void Free(Mbuf& packet) {
    const std::array<Mbuf*, 1> one{&packet};
    cache_.FreePackets(one);
  }

  Lab lab_;
  MbufCache& cache_ = lab_.lcore.cache();
};

TEST_F(ReferenceTest, ShowsTheBytesOfAnotherPacketWithoutACopy) {
  FrameBytes frame = MakeFrame(100, 1);
  frame[40] = std::byte{9};
  MbufPtr packet(MakePacket(cache_, frame), cache_);
  MbufPtr reference(Refer(*packet, 40, 10), cache_);
  EXPECT_EQ(reference->data(), packet->data() + 40);
  EXPECT_EQ(reference->data_bytes(), 10u);
  EXPECT_EQ(reference->frame_bytes(), 10u);
  EXPECT_EQ(reference->segments(), 1u);
  EXPECT_EQ(reference->next(), nullptr);
  EXPECT_EQ(reference->data()[0], std::byte{9});
}

TEST_F(ReferenceTest, ThePayloadStaysUntilTheLastUserIsFreed) {
  Mbuf& packet = MakePacket(cache_, MakeFrame(100, 7));
  Mbuf& first = Refer(packet, 0, 50);
  Mbuf& second = Refer(packet, 50, 50);
  Free(packet);
  EXPECT_EQ(lab_.pool->used_mbufs(), 3u);
  Free(first);
  EXPECT_EQ(lab_.pool->used_mbufs(), 2u);
  EXPECT_EQ(BytesOf(second), MakeFrame(50, 7));
  Free(second);
  EXPECT_EQ(lab_.pool->used_mbufs(), 0u);
}

TEST_F(ReferenceTest, SeveralAtOnceShowOnePieceAfterTheOther) {
  const FrameBytes frame = MakeFrame(100, 7);
  Mbuf& packet = MakePacket(cache_, frame);
  const std::array<Mbuf*, 3> references{&Alloc(), &Alloc(), &Alloc()};
  cache_.ReferAll(references, packet, packet, 10, 30);
  Free(packet);
  EXPECT_EQ(lab_.pool->used_mbufs(), 4u);
  for (size_t i = 0; i < references.size(); ++i) {
    const auto begin = frame.begin() + 10 + 30 * static_cast<ptrdiff_t>(i);
    EXPECT_EQ(BytesOf(*references[i]), FrameBytes(begin, begin + 30));
    Free(*references[i]);
  }
  EXPECT_EQ(lab_.pool->used_mbufs(), 0u);
}

TEST_F(ReferenceTest, AFrameLikeAnotherHasItsMetadataAndOtherBytes) {
  Mbuf& packet = MakePacket(cache_, MakeFrame(100, 7));
  Mbuf& one = MakePacket(cache_, MakeFrame(20, 1));
  one.set_hash(5);
  one.set_timestamp_ns(6);
  one.info().protocol = 17;
  one.Append(one, Refer(packet, 0, 50));
  Mbuf& other = Alloc();
  other.LeadLike(one, 64, Refer(packet, 50, 50));
  EXPECT_EQ(other.headroom_bytes(), 64u);
  EXPECT_EQ(other.data_bytes(), 20u);
  EXPECT_EQ(other.frame_bytes(), 70u);
  EXPECT_EQ(other.segments(), 2u);
  EXPECT_EQ(other.hash(), 5u);
  EXPECT_EQ(other.timestamp_ns(), 6u);
  EXPECT_EQ(other.info(), one.info());
  EXPECT_TRUE(other.may_share());
  EXPECT_NE(other.data(), one.data());
  EXPECT_EQ(other.next()->data(), packet.data() + 50);
  Free(one);
  Free(other);
  Free(packet);
  EXPECT_EQ(lab_.pool->used_mbufs(), 0u);
}

TEST_F(ReferenceTest, AReferenceToAReferenceUsesTheSameOwner) {
  Mbuf& packet = MakePacket(cache_, MakeFrame(100, 7));
  Mbuf& first = Refer(packet, 10, 50);
  Mbuf& second = Refer(first, 10, 30);
  EXPECT_EQ(second.data(), packet.data() + 20);
  Free(first);
  Free(packet);
  EXPECT_EQ(lab_.pool->used_mbufs(), 2u);
  EXPECT_EQ(BytesOf(second), MakeFrame(30, 7));
  Free(second);
  EXPECT_EQ(lab_.pool->used_mbufs(), 0u);
}

TEST_F(ReferenceTest, AFreedReferenceHasItsOwnChunkAgain) {
  MbufPtr packet(MakePacket(cache_, MakeFrame(100, 7)), cache_);
  Mbuf& reference = Refer(*packet, 0, 100);
  Free(reference);
  Mbuf& again = Alloc();
  ASSERT_EQ(&again, &reference);
  again.Reset(0);
  EXPECT_EQ(again.data(),
            lab_.pool->arena().bytes().data() +
                size_t{lab_.pool->IndexOf(again)} * lab_.pool->chunk_bytes());
  EXPECT_EQ(again.tailroom_bytes(), lab_.pool->chunk_bytes());
  EXPECT_FALSE(again.may_share());
  Free(again);
}

TEST_F(ReferenceTest, SharedPayloadHasNoRoomToWriteTo) {
  MbufPtr packet(MakePacket(cache_, MakeFrame(100, 7)), cache_);
  EXPECT_FALSE(packet->is_shared());
  {
    MbufPtr reference(Refer(*packet, 0, 50), cache_);
    for (const Mbuf* mbuf : {packet.get(), reference.get()}) {
      EXPECT_TRUE(mbuf->is_shared());
      EXPECT_EQ(mbuf->headroom_bytes(), 0u);
      EXPECT_EQ(mbuf->tailroom_bytes(), 0u);
    }
  }
  EXPECT_FALSE(packet->is_shared());
  EXPECT_GT(packet->tailroom_bytes(), 0u);
}

TEST_F(ReferenceTest, TheFirstSegmentSaysThatAChainMayShare) {
  MbufPtr packet(MakePacket(cache_, MakeFrame(100, 7)), cache_);
  MbufPtr chain(MakePacket(cache_, MakeFrame(20, 1)), cache_);
  Mbuf& plain = MakePacket(cache_, MakeFrame(20, 2));
  chain->Append(*chain, plain);
  EXPECT_FALSE(chain->may_share());
  chain->Append(plain, Refer(*packet, 0, 50));
  EXPECT_TRUE(chain->may_share());
  EXPECT_FALSE(chain->is_shared());
  EXPECT_TRUE(packet->may_share());
  EXPECT_EQ(chain->segments(), 3u);
  EXPECT_EQ(chain->frame_bytes(), 90u);
}

TEST_F(ReferenceTest, AnOwnerMayBeASegmentOfTheChainThatRefersToIt) {
  Mbuf& owner = MakePacket(cache_, MakeFrame(100, 7));
  Mbuf& reference = Refer(owner, 0, 60);
  owner.Detach(60, 40);
  reference.Append(reference, owner);
  EXPECT_EQ(BytesOf(reference), MakeFrame(100, 7));
  Free(reference);
  EXPECT_EQ(lab_.pool->used_mbufs(), 0u);
}

// Packets of random pieces of each other, freed in any order, while what is
// free is taken and written over.
class ReferenceModelTest : public ReferenceTest,
                           public ::testing::WithParamInterface<uint32_t> {
 protected:
  struct Packet {
    Mbuf* mbuf;
    FrameBytes expected;
  };

  Mbuf* TryAlloc() {
    std::array<Mbuf*, 1> one{};
    return cache_.Alloc(one) == 0 ? nullptr : one[0];
  }

  void MakePlain() {
    Mbuf* const mbuf = TryAlloc();
    if (mbuf == nullptr) return;
    mbuf->Reset(random_() % 128);
    mbuf->SetLength(1 + random_() % 1000);
    for (std::byte& byte : mbuf->bytes()) {
      byte = std::byte(static_cast<uint8_t>(random_()));
    }
    packets_.push_back({mbuf, BytesOf(*mbuf)});
  }

  // A chain of a header and pieces of any packets.
  void MakeOfPieces() {
    if (packets_.empty()) return;
    const size_t before = packets_.size();
    MakePlain();
    if (packets_.size() == before) return;
    Packet made = packets_.back();
    packets_.pop_back();
    Mbuf* last = made.mbuf;
    for (uint32_t pieces = 1 + random_() % 5; pieces > 0; --pieces) {
      Mbuf* const reference = TryAlloc();
      if (reference == nullptr) break;
      Mbuf& from = *packets_[random_() % packets_.size()].mbuf;
      Mbuf* segment = &from;
      for (uint32_t skip = random_() % from.segments(); skip > 0; --skip) {
        segment = segment->next();
      }
      const uint32_t offset = random_() % segment->data_bytes();
      const uint32_t bytes = 1 + random_() % (segment->data_bytes() - offset);
      cache_.Refer(*reference, from, *segment, offset, bytes);
      const std::span<std::byte> added = reference->bytes();
      made.expected.insert(made.expected.end(), added.begin(), added.end());
      made.mbuf->Append(*last, *reference);
      last = reference;
    }
    packets_.push_back(std::move(made));
  }

  void FreeSome() {
    std::shuffle(packets_.begin(), packets_.end(), random_);
    std::vector<Mbuf*> packets;
    std::vector<Mbuf*> segments;
    for (size_t count = std::min<size_t>(random_() % 20, packets_.size());
         count > 0; --count) {
      Mbuf* const packet = packets_.back().mbuf;
      ASSERT_EQ(BytesOf(*packet), packets_.back().expected);
      packets_.pop_back();
      packets.push_back(packet);
      for (Mbuf* at = packet; at != nullptr; at = at->next()) {
        segments.push_back(at);
      }
    }
    if (random_() % 2 == 0) {
      cache_.FreePackets(packets);
    } else {
      cache_.FreeShared(segments);
    }
  }

  std::mt19937 random_{GetParam()};
  std::vector<Packet> packets_;
};

TEST_P(ReferenceModelTest, EveryByteStaysWhileAnyoneUsesItAndAllComesHome) {
  for (int step = 0; step < 3000; ++step) {
    switch (random_() % 4) {
      case 0:
        MakePlain();
        break;
      case 1:
      case 2:
        MakeOfPieces();
        break;
      default:
        FreeSome();
    }
    if (HasFatalFailure()) return;
    uint64_t at_least = 0;
    for (const Packet& packet : packets_) at_least += packet.mbuf->segments();
    ASSERT_GE(lab_.pool->used_mbufs(), at_least);
  }
  while (!packets_.empty()) {
    FreeSome();
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(lab_.pool->used_mbufs(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ReferenceModelTest, ::testing::Range(1u, 6u));

}  // namespace
}  // namespace weir
