// The DPDK twins of reassemble_bench.cc: rte_ip_frag. A datagram has eight
// fragments there at most (RTE_LIBRTE_IP_FRAG_MAX_FRAG), so those of 44 have no
// twin.

#include <rte_cycles.h>
#include <rte_ip_frag.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/stage/reassemble_loops.h"
#include "bench/support/dpdk_main.h"

namespace weir {
namespace {

std::string NextName() {
  static int count = 0;
  return "bench" + std::to_string(count++);
}

template <bool kIpv6>
class RteSide {
 public:
  RteSide(uint32_t datagrams, uint32_t fragments)
      : pool_(rte_pktmbuf_pool_create(
            NextName().c_str(), datagrams * fragments + 2048, 256, 0,
            RTE_PKTMBUF_HEADROOM + 128, SOCKET_ID_ANY)) {
    // Four places for each datagram, in buckets of 16.
    const uint32_t buckets = std::max(16U, datagrams / 8);
    table_ = rte_ip_frag_table_create(buckets, 16, buckets * 32,
                                      30 * rte_get_tsc_hz(), SOCKET_ID_ANY);
  }
  RteSide(const RteSide&) = delete;
  RteSide& operator=(const RteSide&) = delete;
  ~RteSide() {
    rte_ip_frag_table_destroy(table_);
    rte_mempool_free(pool_);
  }

  void Make(const FragmentPlan& plan) {
    rte_mbuf* const frame = rte_pktmbuf_alloc(pool_);
    constexpr uint32_t kDataAt = kIpv6 ? kIpv6DataAt : kIpv4DataAt;
    WriteHeaders(rte_pktmbuf_mtod(frame, std::byte*), plan, kIpv6);
    frame->data_len = kDataAt + kFragmentBytes;
    frame->pkt_len = kDataAt + kFragmentBytes;
    frame->l2_len = kIpv4At;
    frame->l3_len = kDataAt - kIpv4At;
    burst_[size_++] = frame;
  }

  void Reassemble() {
    const uint64_t now = rte_rdtsc();
    size_t complete = 0;
    for (size_t i = 0; i < size_; ++i) {
      if (i + 3 < size_) rte_prefetch0(rte_pktmbuf_mtod(burst_[i + 3], void*));
      rte_mbuf* const whole = One(burst_[i], now);
      if (whole != nullptr) burst_[complete++] = whole;
    }
    size_ = complete;
    rte_ip_frag_free_death_row(&dead_, 3);
  }

  uint64_t Free() {
    for (size_t i = 0; i < size_; ++i) rte_pktmbuf_free(burst_[i]);
    const uint64_t complete = size_;
    size_ = 0;
    return complete;
  }

 private:
  rte_mbuf* One(rte_mbuf* frame, uint64_t now) {
    if constexpr (kIpv6) {
      auto* ip = rte_pktmbuf_mtod_offset(frame, rte_ipv6_hdr*, kIpv4At);
      auto* header =
          rte_pktmbuf_mtod_offset(frame, rte_ipv6_fragment_ext*, kIpv4At + 40);
      return rte_ipv6_frag_reassemble_packet(table_, &dead_, frame, now, ip,
                                             header);
    } else {
      auto* ip = rte_pktmbuf_mtod_offset(frame, rte_ipv4_hdr*, kIpv4At);
      return rte_ipv4_frag_reassemble_packet(table_, &dead_, frame, now, ip);
    }
  }

  rte_mempool* pool_;
  rte_ip_frag_tbl* table_;
  rte_ip_frag_death_row dead_{};
  std::array<rte_mbuf*, kReassembleBurst> burst_;
  size_t size_ = 0;
};

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  weir::RegisterReassembly<weir::RteSide<false>>("reassemble/ipv4", 8);
  weir::RegisterReassembly<weir::RteSide<true>>("reassemble/ipv6", 8);
  return weir::RunDpdkBenches(argc, argv);
}
