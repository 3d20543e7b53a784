// Reassembly, in the loops of reassemble_loops.h: the stage as it stands in a
// pipeline, the parse of complete datagrams included.

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "bench/stage/reassemble_loops.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/pipeline/lcore.h"
#include "weir/stage/reassemble.h"

namespace weir {
namespace {

template <bool kIpv6>
class WeirSide {
 public:
  WeirSide(uint32_t datagrams, uint32_t fragments)
      : pool_(*MbufPool::Create(
            {.mbufs = datagrams * fragments + 1024, .chunk_bytes = 512})),
        lcore_(0, pool_->cache(0)),
        stage_(*Reassemble::Create(Options(datagrams, fragments))),
        burst_(lcore_.cache()) {}
  ~WeirSide() { stage_.Close(lcore_); }

  void Make(const FragmentPlan& plan) {
    std::array<Mbuf*, 1> one{};
    lcore_.cache().Alloc(one);
    Mbuf& frame = *one[0];
    constexpr uint32_t kDataAt = kIpv6 ? kIpv6DataAt : kIpv4DataAt;
    frame.Reset(128);
    frame.SetLength(kDataAt + kFragmentBytes);
    WriteHeaders(frame.data(), plan, kIpv6);
    PacketInfo& info = frame.info();
    info.l3_offset = kIpv4At;
    info.l4_offset = kDataAt;
    info.protocol = 253;
    info.l3 = kIpv6 ? L3::kIpv6 : L3::kIpv4;
    info.flags = PacketInfo::kFragment;
    info.set_ip_checksum(ChecksumState::kGood);
    burst_.Adopt(frame);
  }

  void Reassemble() { stage_.OnBurst(burst_, lcore_); }

  uint64_t Free() {
    const uint64_t complete = burst_.size();
    burst_.Clear();
    return complete;
  }

 private:
  static ReassemblyOptions Options(uint32_t datagrams, uint32_t fragments) {
    const uint32_t all = std::max(datagrams * fragments, 64U) + 64;
    return {.max_datagrams = std::max(datagrams, 64U),
            .max_fragments = all,
            .max_bytes = uint64_t{all} * kFragmentBytes + 65536,
            .max_fragments_per_source = all};
  }

  std::unique_ptr<MbufPool> pool_;
  Lcore lcore_;
  weir::Reassemble stage_;
  Burst burst_;
};

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  weir::RegisterReassembly<weir::WeirSide<false>>("reassemble/ipv4", 44);
  weir::RegisterReassembly<weir::WeirSide<true>>("reassemble/ipv6", 44);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
