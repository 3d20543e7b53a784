// The DPDK twins of ring_bench.cc.

#include <rte_ring.h>

#include <atomic>
#include <span>
#include <string>

#include "bench/ring/ring_loops.h"
#include "bench/support/dpdk_main.h"

namespace weir {
namespace {

// An rte_ring of pointers, single or multi producer and consumer.
template <unsigned kFlags>
class RteRing {
 public:
  using Value = void*;

  explicit RteRing(int capacity)
      : ring_(rte_ring_create(NextName().c_str(), capacity, SOCKET_ID_ANY,
                              kFlags)) {}
  RteRing(const RteRing&) = delete;
  RteRing& operator=(const RteRing&) = delete;
  ~RteRing() { rte_ring_free(ring_); }

  [[gnu::always_inline]] size_t Enqueue(std::span<void* const> in) {
    return rte_ring_enqueue_burst(ring_, in.data(), in.size(), nullptr);
  }
  [[gnu::always_inline]] size_t Dequeue(std::span<void*> out) {
    return rte_ring_dequeue_burst(ring_, out.data(), out.size(), nullptr);
  }

 private:
  static std::string NextName() {
    static int count = 0;
    return "bench" + std::to_string(count++);
  }

  rte_ring* ring_;
};

using Spsc = RteRing<RING_F_SP_ENQ | RING_F_SC_DEQ>;
using Mpmc = RteRing<0>;

BENCHMARK(RingOneLcore<Spsc, 1>)->Name("spsc/one_lcore/1");
BENCHMARK(RingOneLcore<Spsc, 8>)->Name("spsc/one_lcore/8");
BENCHMARK(RingOneLcore<Spsc, 32>)->Name("spsc/one_lcore/32");
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

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::RunDpdkBenches(argc, argv); }
