// The loops that ports of the software HCA and those of DPDK are measured by:
// the same source for both, compiled with the same flags.
//
// `Port` has size_t Send(size_t count), a burst of frames, Receive(size_t max),
// which gives back what it got, and Forward(size_t max), which sends it. `Pair`
// is made from the bytes of a frame and has two ports, a() and b(), at the ends
// of a cable.

#ifndef WEIR_BENCH_HCA_PORT_LOOPS_H_
#define WEIR_BENCH_HCA_PORT_LOOPS_H_

#include <cstddef>
#include <string>

#include "bench/support/peer_thread.h"
#include "bench/support/samples.h"
#include "benchmark/benchmark.h"

namespace weir {

inline constexpr size_t kPortBurst = 32;
// Frames of a sample.
inline constexpr size_t kSampleFrames = 64 * kPortBurst;

// A port that always has frames: received, and sent again; per frame.
template <typename Port>
void PortForwards(benchmark::State& state) {
  PinTo(kMainCpu);
  Port port(static_cast<size_t>(state.range(0)));
  Samples samples;
  for (auto _ : state) {
    samples.Take(kSampleFrames, [&] {
      for (size_t got = 0; got < kSampleFrames;) {
        got += port.Forward(kPortBurst);
      }
    });
  }
  samples.Report(state);
}

// Sent at one end and received at the other on one lcore; per frame.
template <typename Pair>
void CableOneLcore(benchmark::State& state) {
  PinTo(kMainCpu);
  Pair pair(static_cast<size_t>(state.range(0)));
  Samples samples;
  for (auto _ : state) {
    samples.Take(kSampleFrames, [&] {
      for (size_t got = 0; got < kSampleFrames;) {
        pair.a().Send(kPortBurst);
        got += pair.b().Receive(kPortBurst);
      }
    });
  }
  samples.Report(state);
}

// One lcore sends, the other receives, as fast as they can; per frame.
template <typename Pair>
void CableTwoLcores(benchmark::State& state) {
  Pair pair(static_cast<size_t>(state.range(0)));
  PeerThread sender([&] { pair.a().Send(kPortBurst); });
  Samples samples;
  for (auto _ : state) {
    samples.Take(kSampleFrames, [&] {
      for (size_t got = 0; got < kSampleFrames;) {
        got += pair.b().Receive(kPortBurst);
      }
    });
  }
  samples.Report(state);
}

// Half of a round trip of one frame between two lcores; each is a sample, with
// the clock read once.
template <typename Pair>
void CableOneWay(benchmark::State& state) {
  Pair pair(static_cast<size_t>(state.range(0)));
  PeerThread echo([&] {
    if (pair.b().Receive(1) == 1) pair.b().Send(1);
  });
  Samples samples;
  for (auto _ : state) {
    samples.Take(2, [&] {
      pair.a().Send(1);
      while (pair.a().Receive(1) == 0) Clobber();
    });
  }
  samples.Report(state);
}

// Registers a benchmark for frames of 64 and of 1518 bytes.
inline void ForBothSizes(const char* name, void (*run)(benchmark::State&)) {
  benchmark::RegisterBenchmark(name, run)->Arg(64)->Arg(1518);
}

template <typename Pair>
void RegisterCable(const std::string& name) {
  ForBothSizes((name + "/one_lcore").c_str(), CableOneLcore<Pair>);
  ForBothSizes((name + "/two_lcores").c_str(), CableTwoLcores<Pair>);
  ForBothSizes((name + "/one_way").c_str(), CableOneWay<Pair>);
}

}  // namespace weir

#endif  // WEIR_BENCH_HCA_PORT_LOOPS_H_
