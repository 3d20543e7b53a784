#include "weir/mbuf/mbuf_pool.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "weir/mbuf/mbuf.h"

namespace weir {
namespace {

std::unique_ptr<MbufPool> MakePool(uint32_t mbufs, uint32_t caches) {
  return *MbufPool::Create({.mbufs = mbufs,
                            .chunk_bytes = 512,
                            .headroom_bytes = 64,
                            .caches = caches,
                            .best_rung = PageRung::k4KiB});
}

void ExpectLedger(const MbufPool& pool, uint64_t used) {
  EXPECT_EQ(pool.used_mbufs(), used);
}

TEST(MbufPoolTest, RefusesOptionsOutOfRange) {
  for (const MbufPool::Options& options : {
           MbufPool::Options{.mbufs = 0},
           MbufPool::Options{.mbufs = 1, .caches = 0},
           MbufPool::Options{.mbufs = 1, .chunk_bytes = 256},
           MbufPool::Options{.mbufs = 1, .chunk_bytes = 3000},
           MbufPool::Options{.mbufs = 1, .chunk_bytes = 131072},
           MbufPool::Options{
               .mbufs = 1, .chunk_bytes = 512, .headroom_bytes = 512},
           MbufPool::Options{.mbufs = UINT32_MAX},
       }) {
    EXPECT_EQ(MbufPool::Create(options).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(MbufPool::Create({.mbufs = 1, .numa_node = 1000}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(MbufPoolTest, RoundsUpToMagazinesAndStartsWithAllInTheDepot) {
  const auto pool = MakePool(kMagazineMbufs + 1, 3);
  EXPECT_EQ(pool->mbufs(), 2 * kMagazineMbufs);
  EXPECT_EQ(pool->depot_mbufs(), 2 * kMagazineMbufs);
  EXPECT_EQ(pool->used_mbufs(), 0);
  EXPECT_EQ(pool->caches(), 3);
}

TEST(MbufPoolTest, ChunksAreApartAndInTheArena) {
  const auto pool = MakePool(kMagazineMbufs, 1);
  const std::span<std::byte> arena = pool->arena().bytes();
  for (uint32_t i = 0; i < pool->mbufs(); ++i) {
    Mbuf& mbuf = pool->mbuf(i);
    EXPECT_EQ(pool->IndexOf(mbuf), i);
    mbuf.Reset(0);
    EXPECT_EQ(mbuf.data(), arena.data() + size_t{i} * pool->chunk_bytes());
    EXPECT_EQ(mbuf.tailroom_bytes(), pool->chunk_bytes());
    EXPECT_LE(mbuf.data() + mbuf.tailroom_bytes(), arena.data() + arena.size());
  }
}

TEST(MbufPoolTest, GivesTheMbufsFreedLastFirst) {
  const auto pool = MakePool(4 * kMagazineMbufs, 1);
  MbufCache& cache = pool->cache(0);
  std::array<Mbuf*, 48> first{};
  std::array<Mbuf*, 32> second{};
  ASSERT_EQ(cache.Alloc(first), first.size());
  cache.FreeSegments(std::span(first).first(32));
  ASSERT_EQ(cache.Alloc(second), second.size());
  std::sort(first.begin(), first.begin() + 32);
  std::sort(second.begin(), second.end());
  EXPECT_TRUE(std::equal(second.begin(), second.end(), first.begin()));
}

TEST(MbufPoolTest, ADryPoolGivesWhatItHasCountsAndRecovers) {
  const auto pool = MakePool(2 * kMagazineMbufs, 1);
  MbufCache& cache = pool->cache(0);
  std::vector<Mbuf*> all(pool->mbufs() + 10);
  EXPECT_EQ(cache.Alloc(all), pool->mbufs());
  EXPECT_EQ(cache.shortages(), 10);
  EXPECT_EQ(std::set<Mbuf*>(all.begin(), all.end() - 10).size(), pool->mbufs());
  std::array<Mbuf*, 4> none{};
  EXPECT_EQ(cache.Alloc(none), 0);
  EXPECT_EQ(cache.shortages(), 14);
  ExpectLedger(*pool, pool->mbufs());

  cache.FreeSegments(std::span(all).first(3));
  EXPECT_EQ(cache.Alloc(none), 3);
  EXPECT_EQ(cache.shortages(), 15);
  cache.FreeSegments(std::span(all).first(pool->mbufs()));
  ExpectLedger(*pool, 0);
}

TEST(MbufPoolTest, WhatOneCacheFreesAnotherCanTakeAboveTheBound) {
  const auto pool = MakePool(8 * kMagazineMbufs, 2);
  std::vector<Mbuf*> all(pool->mbufs());
  ASSERT_EQ(pool->cache(0).Alloc(all), all.size());
  pool->cache(1).FreeSegments(all);
  EXPECT_LE(pool->cache(1).free_mbufs(), kCacheMbufs);
  ExpectLedger(*pool, 0);
  EXPECT_GE(pool->cache(0).Alloc(all), pool->mbufs() - kCacheMbufs);
}

TEST(MbufPoolTest, FreesAllSegmentsOfPacketsAndOnlyTheOnesNamedOtherwise) {
  const auto pool = MakePool(kMagazineMbufs, 1);
  MbufCache& cache = pool->cache(0);
  std::array<Mbuf*, 6> mbufs{};
  ASSERT_EQ(cache.Alloc(mbufs), mbufs.size());
  for (Mbuf* mbuf : mbufs) mbuf->Reset(0);
  mbufs[1]->Append(*mbufs[1], *mbufs[2]);
  mbufs[1]->Append(*mbufs[2], *mbufs[3]);
  mbufs[4]->Append(*mbufs[4], *mbufs[5]);
  cache.FreePackets(std::array{mbufs[0], mbufs[1]});
  ExpectLedger(*pool, 2);
  cache.FreeSegments(std::array{mbufs[4]});
  ExpectLedger(*pool, 1);
  cache.FreeSegments(std::array{mbufs[5]});
  ExpectLedger(*pool, 0);
}

// What the pool should be: sets of mbufs, and who has them.
class PoolModelTest : public testing::TestWithParam<uint32_t> {
 protected:
  static constexpr uint32_t kCaches = 3;

  // Takes a burst, and chains some of it into packets.
  void Alloc(MbufCache& cache) {
    std::vector<Mbuf*> burst(random_() % 100);
    const uint64_t shortages = cache.shortages();
    const size_t given = cache.Alloc(burst);
    ASSERT_EQ(cache.shortages() - shortages, burst.size() - given);
    if (given < burst.size()) {
      // Short only when nothing is in reach.
      ASSERT_EQ(cache.free_mbufs(), 0);
      ASSERT_EQ(pool_->depot_mbufs(), 0);
    }
    for (size_t i = 0; i < given; ++i) {
      ASSERT_TRUE(used_.insert(burst[i]).second) << "given twice";
      burst[i]->Reset(0);
      if (i > 0 && random_() % 4 == 0) {
        Mbuf& first = *packets_.back();
        Mbuf* last = &first;
        while (last->next() != nullptr) last = last->next();
        first.Append(*last, *burst[i]);
      } else {
        packets_.push_back(burst[i]);
      }
    }
  }

  // Gives back some packets, whole or segment by segment.
  void Free(MbufCache& cache) {
    std::shuffle(packets_.begin(), packets_.end(), random_);
    const size_t count = std::min<size_t>(random_() % 100, packets_.size());
    const std::vector<Mbuf*> going(packets_.end() - count, packets_.end());
    packets_.resize(packets_.size() - count);
    std::vector<Mbuf*> segments;
    for (Mbuf* packet : going) {
      for (Mbuf* at = packet; at != nullptr; at = at->next()) {
        segments.push_back(at);
      }
    }
    for (Mbuf* segment : segments) ASSERT_EQ(used_.erase(segment), 1);
    if (random_() % 2 == 0) {
      cache.FreePackets(going);
    } else {
      cache.FreeSegments(segments);
    }
  }

  std::mt19937 random_{GetParam()};
  std::unique_ptr<MbufPool> pool_ = MakePool(9 * kMagazineMbufs, kCaches);
  std::set<Mbuf*> used_;
  std::vector<Mbuf*> packets_;
};

TEST_P(PoolModelTest, NeverGivesAnMbufTwiceAndAlwaysAddsUp) {
  for (int step = 0; step < 3000; ++step) {
    MbufCache& cache = pool_->cache(random_() % kCaches);
    // Long runs of one kind reach both ends.
    if ((random_() + step / 200) % 8 < 4) {
      Alloc(cache);
    } else {
      Free(cache);
    }
    if (HasFatalFailure()) return;
    ASSERT_EQ(pool_->used_mbufs(), used_.size());
    uint64_t free = pool_->depot_mbufs();
    for (uint32_t i = 0; i < kCaches; ++i) {
      ASSERT_LE(pool_->cache(i).free_mbufs(), kCacheMbufs);
      free += pool_->cache(i).free_mbufs();
    }
    ASSERT_EQ(free + used_.size(), pool_->mbufs());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PoolModelTest, testing::Range(1u, 6u));

}  // namespace
}  // namespace weir
