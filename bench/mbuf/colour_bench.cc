// Whether it pays to start the data of neighbouring chunks in different sets of
// the first-level cache: docs/decisions/0003-no-cache-colouring.md.

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>

#include "bench/support/peer_thread.h"
#include "bench/support/samples.h"
#include "benchmark/benchmark.h"
#include "weir/base/cache_line.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"

namespace weir {
namespace {

// Takes kBurst mbufs, writes a frame's first line into each as a device would,
// swaps its addresses in a second pass, and frees them; per mbuf.
template <uint32_t kColours, uint32_t kBurst>
void SwapAddresses(benchmark::State& state) {
  PinTo(kMainCpu);
  const auto pool = *MbufPool::Create({.mbufs = 8192});
  MbufCache& cache = pool->cache(0);
  std::array<Mbuf*, kBurst> burst;
  const std::array<std::byte, kCacheLine> frame{};
  constexpr size_t kBursts = 512;
  Samples samples;
  for (auto _ : state) {
    samples.Take(kBursts * kBurst, [&] {
      for (size_t i = 0; i < kBursts; ++i) {
        cache.Alloc(burst);
        for (Mbuf* mbuf : burst) {
          mbuf->Reset(128 + pool->IndexOf(*mbuf) % kColours * kCacheLine);
          mbuf->SetLength(60);
        }
        Clobber();
        for (Mbuf* mbuf : burst) {
          std::memcpy(mbuf->data(), frame.data(), frame.size());
        }
        Clobber();
        for (Mbuf* mbuf : burst) {
          std::array<std::byte, 6> first;
          std::memcpy(first.data(), mbuf->data(), 6);
          std::memcpy(mbuf->data(), mbuf->data() + 6, 6);
          std::memcpy(mbuf->data() + 6, first.data(), 6);
        }
        Clobber();
        cache.FreeSegments(burst);
      }
    });
  }
  samples.Report(state);
}

BENCHMARK(SwapAddresses<1, 32>)->Name("swap/32/one_colour");
BENCHMARK(SwapAddresses<6, 32>)->Name("swap/32/six_colours");
BENCHMARK(SwapAddresses<1, 64>)->Name("swap/64/one_colour");
BENCHMARK(SwapAddresses<6, 64>)->Name("swap/64/six_colours");

}  // namespace
}  // namespace weir
