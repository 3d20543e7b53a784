// Gives each packet the hash of its flow, by which it is sent on to one of
// several lcores.

#ifndef WEIR_STAGE_FLOW_HASH_H_
#define WEIR_STAGE_FLOW_HASH_H_

#include <cstddef>

#include "absl/strings/string_view.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/flow_hasher.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/stage.h"

namespace weir {

// A packet stage behind Parse. Sets Mbuf::hash() of packets of IP as
// net::FlowHasher has it, of others to 0. Owner lcore only.
class FlowHash {
 public:
  static constexpr absl::string_view kName = "flow-hash";

  explicit FlowHash(const net::FlowHashOptions& options = {}) noexcept
      : hasher_(options) {}

  Verdict OnPacket(Mbuf& packet, Lcore&) noexcept {
    packet.set_hash(Of(packet));
    return Verdict::Pass();
  }

 private:
  uint32_t Of(const Mbuf& packet) const noexcept {
    const PacketInfo& info = packet.info();
    if (!info.is_ip()) return 0;
    const bool is_ipv6 = info.l3 == L3::kIpv6;
    const size_t header =
        is_ipv6 ? sizeof(net::Ipv6Header) : sizeof(net::Ipv4Header);
    if (info.l3_offset + header > packet.data_bytes()) return 0;
    return hasher_.Hash(packet.bytes(), {.is_ipv6 = is_ipv6,
                                         .is_fragment = info.is_fragment(),
                                         .protocol = info.protocol,
                                         .l3_offset = info.l3_offset,
                                         .l4_offset = info.l4_offset});
  }

  net::FlowHasher hasher_;
};

}  // namespace weir

#endif  // WEIR_STAGE_FLOW_HASH_H_
