// The loops that weir's mbuf pool and its DPDK twin are measured by: the same
// source for both, compiled with the same flags.
//
// `Pool` makes one pool for two lcores and has
//   Mbuf, Handle          a segment, and what stands for it in a ring
//   Ring                  a single-producer ring of Handle
//   Lcore                 what a thread holds while it uses the pool
//   Alloc(side, span)     free segments for side 0 or 1, all or none
//   Prepare(mbuf)         everything set that a receive of 60 bytes sets
//   FreeRaw(side, span)   takes back segments known to stand alone
//   FreeWhole(side, span) takes back packets, chains and all
//   ToHandles, FromHandles

#ifndef WEIR_BENCH_MBUF_POOL_LOOPS_H_
#define WEIR_BENCH_MBUF_POOL_LOOPS_H_

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "bench/support/peer_thread.h"
#include "bench/support/samples.h"
#include "benchmark/benchmark.h"

namespace weir {

// Mbufs of the pool, and of a sample.
inline constexpr unsigned kPoolMbufs = 8192;
inline constexpr size_t kSampleMbufs = 32 * 1024;

// What is done to each mbuf besides taking it and giving it back.
enum class Touch { kNothing, kRaw, kWhole };

template <typename Pool, Touch kTouch>
void Give(Pool& pool, int side,
          std::span<typename Pool::Mbuf* const> segments) {
  if constexpr (kTouch == Touch::kWhole) {
    pool.FreeWhole(side, segments);
  } else {
    pool.FreeRaw(side, segments);
  }
}

// Takes a burst and gives it back on one lcore; per mbuf.
template <typename Pool, Touch kTouch, size_t kBurst>
void PoolOneLcore(benchmark::State& state) {
  PinTo(kMainCpu);
  Pool pool;
  std::array<typename Pool::Mbuf*, kBurst> burst;
  Samples samples;
  for (auto _ : state) {
    samples.Take(kSampleMbufs, [&] {
      for (size_t i = 0; i < kSampleMbufs / kBurst; ++i) {
        pool.Alloc(0, burst);
        if constexpr (kTouch != Touch::kNothing) {
          for (auto* mbuf : burst) pool.Prepare(*mbuf);
        }
        Clobber();
        Give<Pool, kTouch>(pool, 0, burst);
        Clobber();
      }
    });
  }
  samples.Report(state);
}

// Taken on one lcore, sent through a ring, given back on the other; per mbuf,
// the ring included.
template <typename Pool, Touch kTouch, size_t kBurst>
void PoolTwoLcores(benchmark::State& state) {
  Pool pool;
  auto ring = std::make_unique<typename Pool::Ring>(1024);
  PeerThread producer([&] {
    [[maybe_unused]] thread_local typename Pool::Lcore lcore;
    std::array<typename Pool::Mbuf*, kBurst> burst;
    std::array<typename Pool::Handle, kBurst> handles;
    if (!pool.Alloc(1, burst)) return;
    if constexpr (kTouch != Touch::kNothing) {
      for (auto* mbuf : burst) pool.Prepare(*mbuf);
    }
    pool.ToHandles(burst, handles);
    const size_t sent = ring->Enqueue(handles);
    Give<Pool, kTouch>(pool, 1, std::span(burst).subspan(sent));
  });
  std::array<typename Pool::Mbuf*, kBurst> burst;
  std::array<typename Pool::Handle, kBurst> handles;
  Samples samples;
  for (auto _ : state) {
    samples.Take(kSampleMbufs, [&] {
      for (size_t got = 0; got < kSampleMbufs;) {
        Clobber();
        const size_t count = ring->Dequeue(handles);
        pool.FromHandles(std::span(handles).first(count), burst);
        Give<Pool, kTouch>(pool, 0, std::span(burst).first(count));
        got += count;
      }
    });
  }
  samples.Report(state);
}

}  // namespace weir

#endif  // WEIR_BENCH_MBUF_POOL_LOOPS_H_
