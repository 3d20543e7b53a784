#include <cstdint>
#include <cstdlib>
#include <span>

#include "bench/ring/ring_loops.h"
#include "bench/support/peer_thread.h"
#include "weir/ring/doorbell.h"
#include "weir/ring/mpmc_ring.h"
#include "weir/ring/ring_bell.h"
#include "weir/ring/spsc_ring.h"

namespace weir {
namespace {

struct Spsc : SpscRing<uint32_t> {
  using Value = uint32_t;
  using SpscRing::SpscRing;
};

struct Mpmc : MpmcRing<uint32_t> {
  using Value = uint32_t;
  using MpmcRing::MpmcRing;
};

// What a producer pays so that a consumer, here always awake, may sleep: with
// the bell of rings a load, with a doorbell a read-modify-write.
struct SpscWithBell : Spsc {
  using Spsc::Spsc;
  size_t Enqueue(std::span<const Value> in) {
    const size_t count = Spsc::Enqueue(in);
    bell.Ring();
    return count;
  }
  RingBell bell;
};
struct SpscWithDoorbell : Spsc {
  using Spsc::Spsc;
  size_t Enqueue(std::span<const Value> in) {
    const size_t count = Spsc::Enqueue(in);
    if (doorbell.armed() != Doorbell::kQuiet) std::abort();
    return count;
  }
  Doorbell doorbell;
};

// How long a cache line takes to the other core: what the figures of two lcores
// are to be read against.
struct OneLine {
  using Value = uint32_t;
  explicit OneLine(int) {}
  size_t Enqueue(std::span<const Value>) {
    full.store(true, std::memory_order_release);
    return 1;
  }
  size_t Dequeue(std::span<Value>) {
    if (!full.load(std::memory_order_acquire)) return 0;
    full.store(false, std::memory_order_relaxed);
    return 1;
  }
  alignas(kCacheLine) std::atomic<bool> full{false};
};

BENCHMARK(RingOneLcore<Spsc, 1>)->Name("spsc/one_lcore/1");
BENCHMARK(RingOneLcore<Spsc, 8>)->Name("spsc/one_lcore/8");
BENCHMARK(RingOneLcore<Spsc, 32>)->Name("spsc/one_lcore/32");
BENCHMARK(RingOneLcore<SpscWithBell, 1>)->Name("spsc_bell/one_lcore/1");
BENCHMARK(RingOneLcore<SpscWithBell, 32>)->Name("spsc_bell/one_lcore/32");
BENCHMARK(RingOneLcore<SpscWithDoorbell, 1>)->Name("spsc_doorbell/one_lcore/1");
BENCHMARK(RingOneLcore<SpscWithDoorbell, 32>)
    ->Name("spsc_doorbell/one_lcore/32");
BENCHMARK(RingTwoLcores<SpscWithBell, 32>)->Name("spsc_bell/two_lcores/32");
BENCHMARK(RingTwoLcores<SpscWithDoorbell, 32>)
    ->Name("spsc_doorbell/two_lcores/32");
BENCHMARK(RingTwoLcores<Spsc, 1>)->Name("spsc/two_lcores/1");
BENCHMARK(RingTwoLcores<Spsc, 8>)->Name("spsc/two_lcores/8");
BENCHMARK(RingTwoLcores<Spsc, 32>)->Name("spsc/two_lcores/32");
BENCHMARK(RingTwoLcores<Spsc, 128>)->Name("spsc/two_lcores/128");
BENCHMARK(RingOneWay<Spsc>)->Name("spsc/one_way");
BENCHMARK(RingOneLcore<Mpmc, 1>)->Name("mpmc/one_lcore/1");
BENCHMARK(RingOneLcore<Mpmc, 8>)->Name("mpmc/one_lcore/8");
BENCHMARK(RingOneLcore<Mpmc, 32>)->Name("mpmc/one_lcore/32");
BENCHMARK(RingTwoLcores<Mpmc, 1>)->Name("mpmc/two_lcores/1");
BENCHMARK(RingTwoLcores<Mpmc, 8>)->Name("mpmc/two_lcores/8");
BENCHMARK(RingTwoLcores<Mpmc, 32>)->Name("mpmc/two_lcores/32");
BENCHMARK(RingTwoLcores<Mpmc, 128>)->Name("mpmc/two_lcores/128");
BENCHMARK(RingOneWay<Mpmc>)->Name("mpmc/one_way");
BENCHMARK(RingOneWay<OneLine>)->Name("cache_line/one_way");

}  // namespace
}  // namespace weir
