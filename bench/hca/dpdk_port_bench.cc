// The DPDK twins of verbs_bench.cc: net_null beside `null`, and beside `wire`
// net_memif, which copies each frame into memory that both ends map and out of
// it. Apart from those net_ring, which hands over pointers.

#include <rte_dev.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/hca/port_loops.h"
#include "bench/support/dpdk_main.h"

namespace weir {
namespace {

void Must(bool good, const std::string& what) {
  if (good) return;
  std::fprintf(stderr, "%s failed\n", what.c_str());
  std::exit(1);
}

rte_mempool* Pool() {
  constexpr unsigned kMbufs = 4095;
  constexpr unsigned kCached = 256;
  static rte_mempool* const pool = rte_pktmbuf_pool_create(
      "bench", kMbufs, kCached, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
  return pool;
}

class DpdkPort {
 public:
  DpdkPort(uint16_t port, size_t bytes)
      : port_(port), bytes_(static_cast<uint16_t>(bytes)) {
    constexpr uint16_t kSlots = 1024;
    const rte_eth_conf config{};
    Must(rte_eth_dev_configure(port, 1, 1, &config) == 0 &&
             rte_eth_rx_queue_setup(port, 0, kSlots, SOCKET_ID_ANY, nullptr,
                                    Pool()) == 0 &&
             rte_eth_tx_queue_setup(port, 0, kSlots, SOCKET_ID_ANY, nullptr) ==
                 0 &&
             rte_eth_dev_start(port) == 0,
         "the start of port " + std::to_string(port));
  }
  DpdkPort(const DpdkPort&) = delete;
  DpdkPort& operator=(const DpdkPort&) = delete;
  ~DpdkPort() {
    rte_eth_dev_stop(port_);
    rte_eth_dev_close(port_);
  }

  void set_frame_bytes(size_t bytes) { bytes_ = static_cast<uint16_t>(bytes); }

  size_t Send(size_t count) {
    HaveCache();
    std::array<rte_mbuf*, kPortBurst> burst;
    if (rte_pktmbuf_alloc_bulk(Pool(), burst.data(), count) != 0) return 0;
    for (size_t i = 0; i < count; ++i) {
      burst[i]->data_len = bytes_;
      burst[i]->pkt_len = bytes_;
    }
    return SendOrFree(burst, count);
  }

  size_t Receive(size_t max) {
    HaveCache();
    std::array<rte_mbuf*, kPortBurst> burst;
    const size_t got = Take(burst, max);
    uint64_t sum = 0;
    for (size_t i = 0; i < got; ++i) {
      sum += burst[i]->pkt_len + *rte_pktmbuf_mtod(burst[i], uint8_t*);
    }
    benchmark::DoNotOptimize(sum);
    if (got > 0) rte_pktmbuf_free_bulk(burst.data(), got);
    return got;
  }

  size_t Forward(size_t max) {
    std::array<rte_mbuf*, kPortBurst> burst;
    const size_t got = Take(burst, max);
    SendOrFree(burst, got);
    return got;
  }

  bool IsUp() const {
    rte_eth_link link{};
    return rte_eth_link_get_nowait(port_, &link) == 0 &&
           link.link_status == RTE_ETH_LINK_UP;
  }

 private:
  using Burst = std::array<rte_mbuf*, kPortBurst>;

  // Threads that DPDK does not know have no cache of mbufs; one that ends
  // leaves its cache to the next.
  class Registration {
   public:
    Registration() {
      Must(rte_lcore_id() != LCORE_ID_ANY || rte_thread_register() == 0,
           "rte_thread_register");
    }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    ~Registration() { rte_thread_unregister(); }
  };
  static void HaveCache() { static thread_local const Registration known; }
  size_t Take(Burst& burst, size_t max) const {
    return rte_eth_rx_burst(port_, 0, burst.data(), static_cast<uint16_t>(max));
  }
  size_t SendOrFree(Burst& burst, size_t count) const {
    const size_t sent =
        rte_eth_tx_burst(port_, 0, burst.data(), static_cast<uint16_t>(count));
    if (sent < count) {
      rte_pktmbuf_free_bulk(burst.data() + sent,
                            static_cast<unsigned>(count - sent));
    }
    return sent;
  }

  uint16_t port_;
  uint16_t bytes_;
};

uint16_t PortOf(const std::string& name, const std::string& options) {
  uint16_t port = 0;
  Must(rte_eal_hotplug_add("vdev", name.c_str(), options.c_str()) == 0 &&
           rte_eth_dev_get_port_by_name(name.c_str(), &port) == 0,
       name);
  return port;
}

std::string Numbered(const std::string& name) {
  static int count = 0;
  return name + std::to_string(count++);
}

class NullPort : public DpdkPort {
 public:
  explicit NullPort(size_t bytes)
      : DpdkPort(PortOf(Numbered("net_null"), "size=" + std::to_string(bytes)),
                 bytes) {}
};

// Both ends in this process, over an abstract socket. Made once: net_memif does
// not always connect again.
class MemifCable {
 public:
  static MemifCable& Get() {
    static MemifCable* const cable = new MemifCable;
    return *cable;
  }
  DpdkPort& a() { return a_; }
  DpdkPort& b() { return b_; }

 private:
  MemifCable()
      : b_(PortOf("net_memif0", Options("server")), kSmallestBytes),
        a_(PortOf("net_memif1", Options("client")), kSmallestBytes) {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!a_.IsUp() || !b_.IsUp()) {
      Must(std::chrono::steady_clock::now() < deadline, "net_memif");
    }
  }

  static constexpr size_t kSmallestBytes = 64;
  static std::string Options(const std::string& role) {
    return "role=" + role + ",id=0,socket-abstract=yes,socket=weir-bench-" +
           std::to_string(getpid());
  }

  DpdkPort b_;
  DpdkPort a_;
};

class MemifPair {
 public:
  explicit MemifPair(size_t bytes) {
    a().set_frame_bytes(bytes);
    b().set_frame_bytes(bytes);
    // What the last benchmark left.
    while (a().Receive(kPortBurst) + b().Receive(kPortBurst) > 0) {
    }
  }
  static DpdkPort& a() { return MemifCable::Get().a(); }
  static DpdkPort& b() { return MemifCable::Get().b(); }
};

class RingPair {
 public:
  explicit RingPair(size_t bytes)
      : there_(MakeRing()),
        back_(MakeRing()),
        a_(PortOn(back_, there_), bytes),
        b_(PortOn(there_, back_), bytes) {}
  RingPair(const RingPair&) = delete;
  RingPair& operator=(const RingPair&) = delete;
  // What is on its way belongs to the pool.
  ~RingPair() {
    while (a_.Receive(kPortBurst) + b_.Receive(kPortBurst) > 0) {
    }
  }
  DpdkPort& a() { return a_; }
  DpdkPort& b() { return b_; }

 private:
  static rte_ring* MakeRing() {
    constexpr unsigned kSlots = 1024;
    rte_ring* const ring =
        rte_ring_create(Numbered("cable").c_str(), kSlots, SOCKET_ID_ANY,
                        RING_F_SP_ENQ | RING_F_SC_DEQ);
    Must(ring != nullptr, "rte_ring_create");
    return ring;
  }
  static uint16_t PortOn(rte_ring* in, rte_ring* out) {
    const int port = rte_eth_from_rings(Numbered("ends").c_str(), &in, 1, &out,
                                        1, SOCKET_ID_ANY);
    Must(port >= 0, "rte_eth_from_rings");
    return static_cast<uint16_t>(port);
  }

  rte_ring* there_;
  rte_ring* back_;
  DpdkPort a_;
  DpdkPort b_;
};

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  weir::ForBothSizes("null/forward", weir::PortForwards<weir::NullPort>);
  weir::RegisterCable<weir::MemifPair>("cable");
  weir::RegisterCable<weir::RingPair>("net_ring");
  return weir::RunDpdkBenches(argc, argv);
}
