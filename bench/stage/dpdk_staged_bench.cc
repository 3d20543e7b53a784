// The DPDK twins of staged_bench.cc: net_null, rte_ring of pointers, and loops
// that hold nothing but bursts.

#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "bench/stage/staged_loops.h"
#include "bench/support/dpdk_main.h"

namespace weir {
namespace {

void Must(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s failed\n", what);
  std::exit(1);
}

std::string Numbered(const std::string& name) {
  static int count = 0;
  return name + std::to_string(count++);
}

// `kWrites`: whether the ports copy each frame, in and out, as a medium would;
// weir's port writes what it receives. Otherwise they touch none.
template <unsigned kFlags, bool kWrites>
class Path {
 public:
  Path()
      : pool_(rte_pktmbuf_pool_create(Numbered("pool").c_str(), kMbufs, kCached,
                                      0, RTE_MBUF_DEFAULT_BUF_SIZE,
                                      SOCKET_ID_ANY)),
        there_(MakeRing()),
        back_(MakeRing()) {
    Must(pool_ != nullptr, "rte_pktmbuf_pool_create");
    const std::string name = Numbered("net_null");
    Must(rte_eal_hotplug_add("vdev", name.c_str(),
                             kWrites ? "size=64,copy=1" : "size=64") == 0 &&
             rte_eth_dev_get_port_by_name(name.c_str(), &port_) == 0,
         "net_null");
    const rte_eth_conf config{};
    Must(rte_eth_dev_configure(port_, 1, 1, &config) == 0 &&
             rte_eth_rx_queue_setup(port_, 0, kSlots, SOCKET_ID_ANY, nullptr,
                                    pool_) == 0 &&
             rte_eth_tx_queue_setup(port_, 0, kSlots, SOCKET_ID_ANY, nullptr) ==
                 0 &&
             rte_eth_dev_start(port_) == 0,
         "the start of the port");
  }
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;
  ~Path() {
    // What is on its way belongs to the pool.
    do {
      Work();
    } while (Send() > 0);
    rte_pktmbuf_free_bulk(received_.mbufs.data() + received_.first,
                          received_.count - received_.first);
    rte_eth_dev_stop(port_);
    rte_eth_dev_close(port_);
    rte_ring_free(there_);
    rte_ring_free(back_);
    rte_mempool_free(pool_);
  }

  // What a ring has no room for waits, and nothing is received meanwhile: as
  // weir's rings that block.
  void Receive() {
    if (received_.empty()) {
      received_.count =
          rte_eth_rx_burst(port_, 0, received_.mbufs.data(), kStagedBurst);
    }
    received_.Enqueue(there_);
  }
  void Work() {
    if (worked_.empty()) {
      worked_.Dequeue(there_);
      for (unsigned i = 0; i < worked_.count; ++i) {
        auto* header = rte_pktmbuf_mtod(worked_.mbufs[i], rte_ether_hdr*);
        std::swap(header->dst_addr, header->src_addr);
      }
    }
    worked_.Enqueue(back_);
  }
  size_t Send() {
    if (sent_.empty()) sent_.Dequeue(back_);
    if (sent_.empty()) return 0;
    const unsigned sent =
        rte_eth_tx_burst(port_, 0, sent_.mbufs.data() + sent_.first,
                         static_cast<uint16_t>(sent_.count - sent_.first));
    sent_.first += sent;
    return sent;
  }

 private:
  static constexpr unsigned kMbufs = 8191;
  static constexpr unsigned kCached = 256;
  static constexpr uint16_t kSlots = 1024;

  // On a line of its own, like all that one lcore alone writes.
  struct alignas(64) Waiting {
    bool empty() const { return first == count; }
    void Dequeue(rte_ring* ring) {
      first = 0;
      count = rte_ring_dequeue_burst(
          ring, reinterpret_cast<void**>(mbufs.data()), kStagedBurst, nullptr);
    }
    void Enqueue(rte_ring* ring) {
      if (empty()) {
        first = count = 0;
        return;
      }
      first += rte_ring_enqueue_burst(
          ring, reinterpret_cast<void**>(mbufs.data() + first), count - first,
          nullptr);
      if (empty()) first = count = 0;
    }
    unsigned first = 0;
    unsigned count = 0;
    std::array<rte_mbuf*, kStagedBurst> mbufs;
  };

  static rte_ring* MakeRing() {
    rte_ring* const ring = rte_ring_create(Numbered("ring").c_str(),
                                           kStagedRing, SOCKET_ID_ANY, kFlags);
    Must(ring != nullptr, "rte_ring_create");
    return ring;
  }

  rte_mempool* pool_;
  rte_ring* there_;
  rte_ring* back_;
  uint16_t port_ = 0;
  Waiting received_;
  Waiting worked_;
  Waiting sent_;
};

constexpr unsigned kSpsc = RING_F_SP_ENQ | RING_F_SC_DEQ;

BENCHMARK(StagedOneLcore<Path<kSpsc, true>>)->Name("staged/spsc/one_lcore");
BENCHMARK(StagedTwoLcores<Path<kSpsc, true>>)->Name("staged/spsc/two_lcores");
BENCHMARK(StagedOneLcore<Path<0, true>>)->Name("staged/mpmc/one_lcore");
BENCHMARK(StagedTwoLcores<Path<0, true>>)->Name("staged/mpmc/two_lcores");
BENCHMARK(StagedOneLcore<Path<kSpsc, false>>)
    ->Name("staged/spsc/one_lcore/untouched");
BENCHMARK(StagedTwoLcores<Path<kSpsc, false>>)
    ->Name("staged/spsc/two_lcores/untouched");
BENCHMARK(StagedOneLcore<Path<0, false>>)
    ->Name("staged/mpmc/one_lcore/untouched");
BENCHMARK(StagedTwoLcores<Path<0, false>>)
    ->Name("staged/mpmc/two_lcores/untouched");

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::RunDpdkBenches(argc, argv); }
