// The DPDK twin of parse_bench.cc: what a software driver does for each frame
// received. It looks at no length.

#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_net.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "bench/net/parse_loops.h"
#include "bench/support/dpdk_main.h"

namespace weir {
namespace {

std::string NextName() {
  static int count = 0;
  return "bench" + std::to_string(count++);
}

class RteParser {
 public:
  explicit RteParser(size_t frames)
      : pool_(rte_pktmbuf_pool_create(
            NextName().c_str(), static_cast<unsigned>(frames) + 512, 0, 0,
            RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY)) {}
  RteParser(const RteParser&) = delete;
  RteParser& operator=(const RteParser&) = delete;
  ~RteParser() {
    rte_pktmbuf_free_bulk(mbufs_.data(), static_cast<unsigned>(mbufs_.size()));
    rte_mempool_free(pool_);
  }

  void Add(const FrameBytes& frame) {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(pool_);
    std::memcpy(rte_pktmbuf_append(mbuf, static_cast<uint16_t>(frame.size())),
                frame.data(), frame.size());
    mbufs_.push_back(mbuf);
  }
  void Prefetch(size_t i) { rte_prefetch0(rte_pktmbuf_mtod(mbufs_[i], void*)); }
  bool Parse(size_t i) {
    rte_mbuf* mbuf = mbufs_[i];
    rte_net_hdr_lens lengths{};
    mbuf->packet_type = rte_net_get_ptype(mbuf, &lengths, RTE_PTYPE_ALL_MASK);
    mbuf->l2_len = lengths.l2_len;
    mbuf->l3_len = lengths.l3_len;
    mbuf->l4_len = lengths.l4_len;
    return (mbuf->packet_type & RTE_PTYPE_L3_MASK) != 0;
  }

 private:
  rte_mempool* pool_;
  std::vector<rte_mbuf*> mbufs_;
};

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  weir::RegisterParseBenches<weir::RteParser>();
  return weir::RunDpdkBenches(argc, argv);
}
