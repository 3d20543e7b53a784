// The loops that weir's rings and their DPDK twins are measured by: the same
// source for both, compiled with the same flags.
//
// `Ring` has Value, a constructor from a capacity, size_t Enqueue(std::span<
// const Value>) and size_t Dequeue(std::span<Value>).

#ifndef WEIR_BENCH_RING_RING_LOOPS_H_
#define WEIR_BENCH_RING_RING_LOOPS_H_

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "bench/support/peer_thread.h"
#include "bench/support/samples.h"
#include "benchmark/benchmark.h"

namespace weir {

inline constexpr int kRingCapacity = 1024;
// Objects of a sample.
inline constexpr size_t kSampleObjects = 32 * 1024;

// Enqueue and dequeue of a burst on one lcore; per object.
template <typename Ring, size_t kBurst>
void RingOneLcore(benchmark::State& state) {
  PinTo(kMainCpu);
  auto ring = std::make_unique<Ring>(kRingCapacity);
  std::array<typename Ring::Value, kBurst> in{};
  std::array<typename Ring::Value, kBurst> out;
  Samples samples;
  for (auto _ : state) {
    samples.Take(kSampleObjects, [&] {
      for (size_t i = 0; i < kSampleObjects / kBurst; ++i) {
        Clobber();
        ring->Enqueue(in);
        Clobber();
        ring->Dequeue(out);
      }
    });
  }
  samples.Report(state);
}

// One lcore enqueues, the other dequeues, as fast as they can; per object.
template <typename Ring, size_t kBurst>
void RingTwoLcores(benchmark::State& state) {
  auto ring = std::make_unique<Ring>(kRingCapacity);
  std::array<typename Ring::Value, kBurst> in{};
  std::array<typename Ring::Value, kBurst> out;
  PeerThread producer([&] {
    for (int i = 0; i < 64; ++i) {
      Clobber();
      benchmark::DoNotOptimize(ring->Enqueue(in));
    }
  });
  Samples samples;
  for (auto _ : state) {
    samples.Take(kSampleObjects, [&] {
      for (size_t got = 0; got < kSampleObjects;) {
        Clobber();
        got += ring->Dequeue(out);
      }
    });
  }
  samples.Report(state);
}

// Half of a round trip of one object through two rings.
template <typename Ring>
void RingOneWay(benchmark::State& state) {
  constexpr size_t kTrips = 1000;
  using Value = typename Ring::Value;
  auto there = std::make_unique<Ring>(kRingCapacity);
  auto back = std::make_unique<Ring>(kRingCapacity);
  PeerThread echo([&, one = std::array<Value, 1>{}]() mutable {
    Clobber();
    if (there->Dequeue(one) == 1) back->Enqueue(one);
  });
  std::array<Value, 1> one{};
  Samples samples;
  for (auto _ : state) {
    samples.Take(2 * kTrips, [&] {
      for (size_t i = 0; i < kTrips; ++i) {
        there->Enqueue(one);
        while (back->Dequeue(one) == 0) Clobber();
      }
    });
  }
  samples.Report(state);
}

}  // namespace weir

#endif  // WEIR_BENCH_RING_RING_LOOPS_H_
