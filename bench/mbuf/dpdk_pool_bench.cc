// The DPDK twins of pool_bench.cc.

#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "bench/mbuf/pool_loops.h"
#include "bench/support/dpdk_main.h"

namespace weir {
namespace {

std::string NextName() {
  static int count = 0;
  return "bench" + std::to_string(count++);
}

class RtePool {
 public:
  using Mbuf = rte_mbuf;
  using Handle = rte_mbuf*;

  class Ring {
   public:
    explicit Ring(unsigned capacity)
        : ring_(rte_ring_create(NextName().c_str(), capacity, SOCKET_ID_ANY,
                                RING_F_SP_ENQ | RING_F_SC_DEQ)) {}
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    ~Ring() { rte_ring_free(ring_); }
    size_t Enqueue(std::span<Handle const> in) {
      return rte_ring_sp_enqueue_burst(
          ring_, reinterpret_cast<void* const*>(in.data()), in.size(), nullptr);
    }
    size_t Dequeue(std::span<Handle> out) {
      return rte_ring_sc_dequeue_burst(
          ring_, reinterpret_cast<void**>(out.data()), out.size(), nullptr);
    }

   private:
    rte_ring* ring_;
  };

  // A thread that is no lcore would get no cache.
  struct Lcore {
    Lcore() { rte_thread_register(); }
    ~Lcore() { rte_thread_unregister(); }
  };

  RtePool()
      : pool_(rte_pktmbuf_pool_create(NextName().c_str(), kPoolMbufs, 256, 0,
                                      RTE_MBUF_DEFAULT_BUF_SIZE,
                                      SOCKET_ID_ANY)) {}
  RtePool(const RtePool&) = delete;
  RtePool& operator=(const RtePool&) = delete;
  ~RtePool() { rte_mempool_free(pool_); }

  bool Alloc(int, std::span<Mbuf*> out) {
    return rte_mempool_get_bulk(pool_, reinterpret_cast<void**>(out.data()),
                                out.size()) == 0;
  }
  // What a vector driver writes: the rearm word and the fields of a completion.
  void Prepare(Mbuf& mbuf) {
    std::memcpy(
        reinterpret_cast<std::byte*>(&mbuf) + offsetof(rte_mbuf, rearm_data),
        &rearm_, sizeof rearm_);
    mbuf.next = nullptr;
    mbuf.ol_flags = 0;
    mbuf.packet_type = 0;
    mbuf.pkt_len = 60;
    mbuf.data_len = 60;
  }
  void FreeRaw(int, std::span<Mbuf* const> segments) {
    rte_mempool_put_bulk(pool_, reinterpret_cast<void* const*>(segments.data()),
                         segments.size());
  }
  void FreeWhole(int, std::span<Mbuf* const> packets) {
    rte_pktmbuf_free_bulk(const_cast<Mbuf**>(packets.data()), packets.size());
  }
  void ToHandles(std::span<Mbuf* const> mbufs, std::span<Handle> handles) {
    for (size_t i = 0; i < mbufs.size(); ++i) handles[i] = mbufs[i];
  }
  void FromHandles(std::span<const Handle> handles, std::span<Mbuf*> mbufs) {
    for (size_t i = 0; i < handles.size(); ++i) mbufs[i] = handles[i];
  }

 private:
  // data_off 128, refcnt 1, nb_segs 1, port 0.
  uint64_t rearm_ = uint64_t{1} << 32 | uint64_t{1} << 16 | 128;
  rte_mempool* pool_;
};

constexpr auto kNothing = Touch::kNothing;
constexpr auto kRaw = Touch::kRaw;
constexpr auto kWhole = Touch::kWhole;

BENCHMARK(PoolOneLcore<RtePool, kNothing, 1>)->Name("pool/one_lcore/1");
BENCHMARK(PoolOneLcore<RtePool, kNothing, 32>)->Name("pool/one_lcore/32");
BENCHMARK(PoolOneLcore<RtePool, kRaw, 32>)->Name("mbuf/receive_raw/32");
BENCHMARK(PoolOneLcore<RtePool, kWhole, 32>)->Name("mbuf/receive_whole/32");
BENCHMARK(PoolTwoLcores<RtePool, kNothing, 1>)->Name("pool/two_lcores/1");
BENCHMARK(PoolTwoLcores<RtePool, kNothing, 8>)->Name("pool/two_lcores/8");
BENCHMARK(PoolTwoLcores<RtePool, kNothing, 32>)->Name("pool/two_lcores/32");
BENCHMARK(PoolTwoLcores<RtePool, kWhole, 32>)->Name("mbuf/two_lcores/32");

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::RunDpdkBenches(argc, argv); }
