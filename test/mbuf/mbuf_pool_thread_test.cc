// Several lcores on one pool: packets are made on one and freed on another.
// Meant for TSan as much as for the counts.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/ring/spsc_ring.h"

namespace weir {
namespace {

constexpr uint32_t kBurst = 32;

std::unique_ptr<MbufPool> MakePool(uint32_t mbufs, uint32_t caches) {
  return *MbufPool::Create({.mbufs = mbufs,
                            .chunk_bytes = 512,
                            .headroom_bytes = 64,
                            .caches = caches,
                            .best_rung = PageRung::k4KiB});
}

// Fills a packet of one or two segments with `mark`.
void Write(std::span<Mbuf*> segments, uint8_t mark) {
  for (Mbuf* segment : segments) {
    segment->Reset(64);
    segment->SetLength(16);
    for (std::byte& byte : segment->bytes()) byte = std::byte{mark};
    segment->set_timestamp_ns(mark);
  }
  if (segments.size() == 2) segments[0]->Append(*segments[0], *segments[1]);
}

// Bytes of the packet that are not `mark`.
uint32_t Differences(const Mbuf& packet, uint8_t mark) {
  uint32_t count = 0;
  for (const Mbuf* at = &packet; at != nullptr; at = at->next()) {
    for (const std::byte byte : at->bytes()) count += byte != std::byte{mark};
  }
  return count;
}

// Makes packets with `cache` and sends them through `ring` as handles.
void Make(MbufPool& pool, MbufCache& cache, SpscRing<uint32_t>& ring,
          uint32_t packets) {
  std::mt19937 random(1);
  std::array<Mbuf*, 2> segments{};
  for (uint32_t made = 0; made < packets;) {
    const std::span<Mbuf*> wanted = std::span(segments).first(1 + random() % 2);
    const size_t given = cache.Alloc(wanted);
    if (given < wanted.size()) {
      cache.FreeSegments(wanted.first(given));
      std::this_thread::yield();
      continue;
    }
    Write(wanted, static_cast<uint8_t>(made));
    const std::array<uint32_t, 1> handle{pool.IndexOf(*segments[0])};
    while (ring.Enqueue(handle) == 0) std::this_thread::yield();
    ++made;
  }
}

// Takes packets out of `ring`, checks them and frees them into `cache`; the
// number of wrong bytes.
uint32_t Take(MbufPool& pool, MbufCache& cache, SpscRing<uint32_t>& ring,
              uint32_t packets) {
  uint32_t wrong = 0;
  std::array<uint32_t, kBurst> handles{};
  for (uint32_t taken = 0; taken < packets;) {
    const size_t count = ring.Dequeue(handles);
    if (count == 0) std::this_thread::yield();
    std::vector<Mbuf*> burst;
    for (size_t i = 0; i < count; ++i) {
      burst.push_back(&pool.mbuf(handles[i]));
      wrong += Differences(*burst.back(), static_cast<uint8_t>(taken++));
    }
    cache.FreePackets(burst);
  }
  return wrong;
}

TEST(MbufPoolThreadTest, MadeHereFreedThereAndADryPoolRecovers) {
  constexpr uint32_t kPackets = 30'000;
  // So few that the maker runs dry when the other side is slow.
  const auto pool = MakePool(kCacheMbufs + 2 * kMagazineMbufs, 2);
  SpscRing<uint32_t> ring(256);
  std::thread maker([&] { Make(*pool, pool->cache(0), ring, kPackets); });
  EXPECT_EQ(Take(*pool, pool->cache(1), ring, kPackets), 0);
  maker.join();
  EXPECT_EQ(pool->used_mbufs(), 0);
}

TEST(MbufPoolThreadTest, FourLcoresInACircle) {
  constexpr uint32_t kLcores = 4;
  constexpr uint32_t kPackets = 8'000;
  const auto pool = MakePool(kLcores * kCacheMbufs + 4 * kMagazineMbufs, 8);
  std::vector<std::unique_ptr<SpscRing<uint32_t>>> rings;
  for (uint32_t i = 0; i < kLcores; ++i) {
    rings.push_back(std::make_unique<SpscRing<uint32_t>>(64));
  }
  std::array<uint32_t, kLcores> wrong{};
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kLcores; ++i) {
    threads.emplace_back(
        [&, i] { Make(*pool, pool->cache(i), *rings[i], kPackets); });
    threads.emplace_back([&, i] {
      wrong[i] = Take(*pool, pool->cache(kLcores + i), *rings[i], kPackets);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const uint32_t count : wrong) EXPECT_EQ(count, 0);
  EXPECT_EQ(pool->used_mbufs(), 0);
}

// Alloc and free on all of them, at the bottom of the pool: every exchange with
// the depot races with the others.
TEST(MbufPoolThreadTest, FourLcoresFightForTooFewMbufs) {
  constexpr uint32_t kLcores = 4;
  const auto pool = MakePool(3 * kMagazineMbufs, kLcores);
  std::atomic<uint32_t> doubles{0};
  std::vector<std::atomic<uint32_t>> owners(pool->mbufs());
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kLcores; ++i) {
    threads.emplace_back([&, i] {
      MbufCache& cache = pool->cache(i);
      std::mt19937 random(i);
      std::array<Mbuf*, 3 * kMagazineMbufs> mine{};
      for (int turn = 0; turn < 3'000; ++turn) {
        const size_t count =
            cache.Alloc(std::span(mine).first(random() % mine.size()));
        const std::span<Mbuf*> held = std::span(mine).first(count);
        for (const Mbuf* mbuf : held) {
          if (owners[pool->IndexOf(*mbuf)]++ != 0) ++doubles;
        }
        for (const Mbuf* mbuf : held) --owners[pool->IndexOf(*mbuf)];
        cache.FreeSegments(held);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(doubles.load(), 0);
  EXPECT_EQ(pool->used_mbufs(), 0);
}

}  // namespace
}  // namespace weir
