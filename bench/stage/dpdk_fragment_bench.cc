// The DPDK twin of fragment_bench.cc: rte_ip_frag, which leaves layer 2 to its
// caller; it is not written here.

#include <rte_ip.h>
#include <rte_ip_frag.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "bench/stage/fragment_loops.h"
#include "bench/support/dpdk_main.h"

namespace weir {
namespace {

rte_mempool* MakePool(uint16_t data_bytes) {
  static int count = 0;
  const std::string name = "bench" + std::to_string(count++);
  return rte_pktmbuf_pool_create(
      name.c_str(), 4095, 256, 0,
      static_cast<uint16_t>(RTE_PKTMBUF_HEADROOM + data_bytes), SOCKET_ID_ANY);
}

class RteCutter {
 public:
  explicit RteCutter(const Shape& shape)
      : shape_(shape),
        packets_(MakePool(16384)),
        headers_(MakePool(256)),
        references_(MakePool(0)) {}
  RteCutter(const RteCutter&) = delete;
  RteCutter& operator=(const RteCutter&) = delete;
  ~RteCutter() {
    rte_mempool_free(packets_);
    rte_mempool_free(headers_);
    rte_mempool_free(references_);
  }

  uint32_t Round() {
    std::array<rte_mbuf*, kDatagrams> packets;
    std::array<rte_mbuf*, 64> fragments;
    for (rte_mbuf*& packet : packets) packet = Make();
    uint32_t count = 0;
    for (rte_mbuf* packet : packets) {
      const int32_t made =
          shape_.ipv6 ? rte_ipv6_fragment_packet(
                            packet, &fragments[count],
                            static_cast<uint16_t>(fragments.size() - count),
                            static_cast<uint16_t>(shape_.mtu_bytes), headers_,
                            references_)
                      : rte_ipv4_fragment_packet(
                            packet, &fragments[count],
                            static_cast<uint16_t>(fragments.size() - count),
                            static_cast<uint16_t>(shape_.mtu_bytes), headers_,
                            references_);
      if (made < 0) return 0;
      count += static_cast<uint32_t>(made);
      rte_pktmbuf_free(packet);
    }
    // The peer leaves the checksum of IPv4 to its caller, too.
    if (!shape_.ipv6) {
      for (uint32_t i = 0; i < count; ++i) {
        auto* ip = rte_pktmbuf_mtod(fragments[i], rte_ipv4_hdr*);
        ip->hdr_checksum = 0;
        ip->hdr_checksum = rte_ipv4_cksum(ip);
      }
    }
    rte_pktmbuf_free_bulk(fragments.data(), count);
    return count;
  }

 private:
  rte_mbuf* Make() {
    uint32_t left = shape_.packet_bytes;
    rte_mbuf* first = nullptr;
    while (left != 0) {
      rte_mbuf* segment = rte_pktmbuf_alloc(packets_);
      const uint32_t part = std::min(left, shape_.segment_bytes);
      rte_pktmbuf_append(segment, static_cast<uint16_t>(part));
      left -= part;
      if (first == nullptr) {
        first = segment;
      } else {
        rte_pktmbuf_chain(first, segment);
      }
    }
    if (shape_.ipv6) {
      rte_ipv6_hdr header{};
      header.vtc_flow = rte_cpu_to_be_32(0x60000000);
      header.payload_len =
          rte_cpu_to_be_16(static_cast<uint16_t>(shape_.packet_bytes - 40));
      header.proto = IPPROTO_UDP;
      header.hop_limits = 64;
      std::memcpy(rte_pktmbuf_mtod(first, void*), &header, sizeof header);
    } else {
      rte_ipv4_hdr header{};
      header.version_ihl = 0x45;
      header.total_length =
          rte_cpu_to_be_16(static_cast<uint16_t>(shape_.packet_bytes));
      header.packet_id = rte_cpu_to_be_16(1);
      header.time_to_live = 64;
      header.next_proto_id = IPPROTO_UDP;
      std::memcpy(rte_pktmbuf_mtod(first, void*), &header, sizeof header);
    }
    return first;
  }

  Shape shape_;
  rte_mempool* packets_;
  rte_mempool* headers_;
  rte_mempool* references_;
};

BENCHMARK_TEMPLATE(Cut, RteCutter, kJumboIpv4)
    ->Name("fragment/ipv4/9000_for_1500");
BENCHMARK_TEMPLATE(Cut, RteCutter, kJumboIpv6)
    ->Name("fragment/ipv6/9000_for_1500");
BENCHMARK_TEMPLATE(Cut, RteCutter, kJumboInFive)
    ->Name("fragment/ipv4/9000_in_5_for_1500");
BENCHMARK_TEMPLATE(Cut, RteCutter, kSmallMtu)
    ->Name("fragment/ipv4/1500_for_576");

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::RunDpdkBenches(argc, argv); }
