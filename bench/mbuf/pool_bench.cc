#include <cstdint>
#include <memory>
#include <span>

#include "bench/mbuf/pool_loops.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/ring/spsc_ring.h"

namespace weir {
namespace {

class WeirPool {
 public:
  using Mbuf = weir::Mbuf;
  using Handle = uint32_t;
  using Ring = SpscRing<uint32_t>;
  struct Lcore {};

  bool Alloc(int side, std::span<Mbuf*> out) {
    MbufCache& cache = *caches_[side];
    const size_t given = cache.Alloc(out);
    if (given == out.size()) [[likely]]
      return true;
    cache.FreeSegments(out.first(given));
    return false;
  }
  void Prepare(Mbuf& mbuf) {
    mbuf.Reset(128);
    mbuf.SetLength(60);
  }
  void FreeRaw(int side, std::span<Mbuf* const> segments) {
    caches_[side]->FreeSegments(segments);
  }
  void FreeWhole(int side, std::span<Mbuf* const> packets) {
    caches_[side]->FreePackets(packets);
  }
  void ToHandles(std::span<Mbuf* const> mbufs, std::span<Handle> handles) {
    for (size_t i = 0; i < mbufs.size(); ++i) {
      handles[i] = pool_->IndexOf(*mbufs[i]);
    }
  }
  void FromHandles(std::span<const Handle> handles, std::span<Mbuf*> mbufs) {
    for (size_t i = 0; i < handles.size(); ++i) {
      mbufs[i] = &pool_->mbuf(handles[i]);
    }
  }

 private:
  std::unique_ptr<MbufPool> pool_ =
      *MbufPool::Create({.mbufs = kPoolMbufs, .caches = 2});
  MbufCache* caches_[2] = {&pool_->cache(0), &pool_->cache(1)};
};

constexpr auto kNothing = Touch::kNothing;
constexpr auto kRaw = Touch::kRaw;
constexpr auto kWhole = Touch::kWhole;

BENCHMARK(PoolOneLcore<WeirPool, kNothing, 1>)->Name("pool/one_lcore/1");
BENCHMARK(PoolOneLcore<WeirPool, kNothing, 32>)->Name("pool/one_lcore/32");
BENCHMARK(PoolOneLcore<WeirPool, kRaw, 32>)->Name("mbuf/receive_raw/32");
BENCHMARK(PoolOneLcore<WeirPool, kWhole, 32>)->Name("mbuf/receive_whole/32");
BENCHMARK(PoolTwoLcores<WeirPool, kNothing, 1>)->Name("pool/two_lcores/1");
BENCHMARK(PoolTwoLcores<WeirPool, kNothing, 8>)->Name("pool/two_lcores/8");
BENCHMARK(PoolTwoLcores<WeirPool, kNothing, 32>)->Name("pool/two_lcores/32");
BENCHMARK(PoolTwoLcores<WeirPool, kWhole, 32>)->Name("mbuf/two_lcores/32");

}  // namespace
}  // namespace weir
