#include "weir/stage/too_big.h"

#include "weir/base/big_endian.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/icmp.h"

namespace weir {

bool MayAnswerTooBig(const Mbuf& packet,
                     const RouterAddresses& router) noexcept {
  const AnswerBar bar = BarTo(packet);
  if (bar != AnswerBar::kGroup) return bar == AnswerBar::kNone;
  return packet.info().l3 == L3::kIpv6 &&
         (!IsToLinkGroup(packet) || router.mac) &&
         (!IsToIpGroup(packet) || router.ipv6);
}

Mbuf* MakeTooBig(const Mbuf& packet, uint32_t mtu_bytes,
                 const RouterAddresses& router, MbufCache& cache) noexcept {
  // Of ICMP the upper half is unused (RFC 1191 §4).
  const net::IcmpHeader icmp =
      packet.info().l3 == L3::kIpv6
          ? net::IcmpHeader{net::kIcmp6PacketTooBig, 0, Be16(0),
                            Be32(mtu_bytes)}
          : net::IcmpHeader{net::kIcmpUnreachable,
                            net::kIcmpFragmentationNeeded, Be16(0),
                            Be32(mtu_bytes & 0xffff)};
  return MakeIcmpError(packet, icmp, router, cache);
}

}  // namespace weir
