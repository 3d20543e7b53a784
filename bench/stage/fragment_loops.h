// The loop that weir's stage Fragment and its DPDK twin are measured by: the
// same source for both, compiled with the same flags.
//
// A `Cutter` is made for a shape and has
//   Round()   makes kDatagrams packets, cuts them, frees what that gave, and
//             returns how many fragments there were

#ifndef WEIR_BENCH_STAGE_FRAGMENT_LOOPS_H_
#define WEIR_BENCH_STAGE_FRAGMENT_LOOPS_H_

#include <cstddef>
#include <cstdint>

#include "bench/support/peer_thread.h"
#include "bench/support/samples.h"
#include "benchmark/benchmark.h"

namespace weir {

// Packets that are cut at once: with eight fragments each, a burst of weir's.
inline constexpr uint32_t kDatagrams = 8;

// What is cut: an IP packet of `packet_bytes` bytes without options, UDP, in
// mbufs of `segment_bytes` bytes, for an MTU.
struct Shape {
  bool ipv6;
  uint32_t packet_bytes;
  uint32_t mtu_bytes;
  uint32_t segment_bytes;
  uint32_t fragments;
};

inline constexpr Shape kJumboIpv4{false, 9000, 1500, 9100, 7};
inline constexpr Shape kJumboIpv6{true, 9000, 1500, 9100, 7};
inline constexpr Shape kJumboInFive{false, 9000, 1500, 1900, 7};
inline constexpr Shape kSmallMtu{false, 1500, 576, 9100, 3};

// Per packet: made, cut, its fragments freed.
template <typename Cutter, const Shape& kShape>
void Cut(benchmark::State& state) {
  constexpr size_t kRounds = 64;
  PinTo(kMainCpu);
  Cutter cutter(kShape);
  if (cutter.Round() != kDatagrams * kShape.fragments) {
    state.SkipWithError("wrong number of fragments");
    return;
  }
  Samples samples;
  for (auto _ : state) {
    samples.Take(kRounds * kDatagrams, [&] {
      for (size_t i = 0; i < kRounds; ++i) {
        cutter.Round();
        Clobber();
      }
    });
  }
  samples.Report(state);
}

}  // namespace weir

#endif  // WEIR_BENCH_STAGE_FRAGMENT_LOOPS_H_
