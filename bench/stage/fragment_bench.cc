// Packets for a smaller MTU, cut by the stage Fragment.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>

#include "bench/stage/fragment_loops.h"
#include "weir/base/big_endian.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/ethernet.h"
#include "weir/net/ip_protocol.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/pipeline/lcore.h"
#include "weir/stage/fragment.h"

namespace weir {
namespace {

constexpr uint32_t kLayer2Bytes = sizeof(net::EthernetHeader);

class WeirCutter {
 public:
  explicit WeirCutter(const Shape& shape)
      : shape_(shape),
        pool_(*MbufPool::Create({.mbufs = 4096, .chunk_bytes = 16384})),
        lcore_(0, pool_->cache(0)),
        stage_(
            *Fragment::Create({.mtu_bytes = shape.mtu_bytes, .id_seed = 1})) {}

  uint32_t Round() {
    Burst burst(lcore_.cache());
    for (uint32_t i = 0; i < kDatagrams; ++i) burst.Adopt(Make());
    uint32_t fragments = 0;
    do {
      stage_.OnBurst(burst, lcore_);
      fragments += burst.size();
      burst.Clear();
    } while (stage_.more());
    return fragments;
  }

 private:
  // A packet as Parse leaves it.
  Mbuf& Make() {
    uint32_t left = kLayer2Bytes + shape_.packet_bytes;
    const uint32_t count =
        (left + shape_.segment_bytes - 1) / shape_.segment_bytes;
    std::array<Mbuf*, 8> segments;
    lcore_.cache().Alloc({segments.data(), count});
    for (uint32_t i = 0; i < count; ++i) {
      segments[i]->Reset(128);
      segments[i]->SetLength(std::min(left, shape_.segment_bytes));
      left -= segments[i]->data_bytes();
      if (i > 0) segments[0]->Append(*segments[i - 1], *segments[i]);
    }
    Mbuf& packet = *segments[0];
    PacketInfo& info = packet.info();
    info.l3_offset = kLayer2Bytes;
    info.protocol = net::kProtocolUdp;
    std::byte* const ip = packet.data() + kLayer2Bytes;
    if (shape_.ipv6) {
      info.l3 = L3::kIpv6;
      info.l4_offset = kLayer2Bytes + sizeof(net::Ipv6Header);
      const net::Ipv6Header header{
          Be32(0x60000000),
          Be16(static_cast<uint16_t>(shape_.packet_bytes - 40)),
          net::kProtocolUdp,
          64,
          {},
          {}};
      std::memcpy(ip, &header, sizeof header);
    } else {
      info.l3 = L3::kIpv4;
      info.l4_offset = kLayer2Bytes + sizeof(net::Ipv4Header);
      const net::Ipv4Header header{
          0x45,
          0,
          Be16(static_cast<uint16_t>(shape_.packet_bytes)),
          Be16(1),
          Be16(0),
          64,
          net::kProtocolUdp,
          Be16(0),
          {},
          {}};
      std::memcpy(ip, &header, sizeof header);
    }
    return packet;
  }

  Shape shape_;
  std::unique_ptr<MbufPool> pool_;
  Lcore lcore_;
  Fragment stage_;
};

BENCHMARK_TEMPLATE(Cut, WeirCutter, kJumboIpv4)
    ->Name("fragment/ipv4/9000_for_1500");
BENCHMARK_TEMPLATE(Cut, WeirCutter, kJumboIpv6)
    ->Name("fragment/ipv6/9000_for_1500");
BENCHMARK_TEMPLATE(Cut, WeirCutter, kJumboInFive)
    ->Name("fragment/ipv4/9000_in_5_for_1500");
BENCHMARK_TEMPLATE(Cut, WeirCutter, kSmallMtu)
    ->Name("fragment/ipv4/1500_for_576");

}  // namespace
}  // namespace weir
