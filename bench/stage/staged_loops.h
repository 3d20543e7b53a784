// The loops that weir's staged path and its DPDK twin are measured by: frames
// of 64 bytes from a null port over a ring to a worker, which swaps their MAC
// addresses, and over another ring to a port that swallows them. The same
// source for both, compiled with the same flags.
//
// `Path` has void Receive(), from the port to the first ring; void Work(); and
// size_t Send(), from the second ring to the port: how many packets went. Each
// moves a burst at most and is called by one thread.

#ifndef WEIR_BENCH_STAGE_STAGED_LOOPS_H_
#define WEIR_BENCH_STAGE_STAGED_LOOPS_H_

#include <cstddef>

#include "bench/support/peer_thread.h"
#include "bench/support/samples.h"
#include "benchmark/benchmark.h"

namespace weir {

inline constexpr size_t kStagedBurst = 32;
// Packets of each ring.
inline constexpr unsigned kStagedRing = 1024;
// Packets of a sample.
inline constexpr size_t kStagedSample = 64 * kStagedBurst;

// All stages take turns on one lcore; per packet.
template <typename Path>
void StagedOneLcore(benchmark::State& state) {
  PinTo(kMainCpu);
  Path path;
  Samples samples;
  for (auto _ : state) {
    samples.Take(kStagedSample, [&] {
      for (size_t got = 0; got < kStagedSample;) {
        path.Receive();
        path.Work();
        got += path.Send();
      }
    });
  }
  samples.Report(state);
}

// The worker has an lcore of its own; per packet.
template <typename Path>
void StagedTwoLcores(benchmark::State& state) {
  Path path;
  PeerThread worker([&] { path.Work(); });
  Samples samples;
  for (auto _ : state) {
    samples.Take(kStagedSample, [&] {
      for (size_t got = 0; got < kStagedSample;) {
        path.Receive();
        got += path.Send();
      }
    });
  }
  samples.Report(state);
}

}  // namespace weir

#endif  // WEIR_BENCH_STAGE_STAGED_LOOPS_H_
