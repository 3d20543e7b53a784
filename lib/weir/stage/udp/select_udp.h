// The stage that lets one kind of packets pass: UDP datagrams to a port, of
// multicast groups.

#ifndef WEIR_STAGE_UDP_SELECT_UDP_H_
#define WEIR_STAGE_UDP_SELECT_UDP_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/string_view.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/group_address.h"
#include "weir/net/ip_protocol.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/net/load_store.h"
#include "weir/net/udp.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/stage.h"
#include "weir/stage/udp/group_counts.h"
#include "weir/stage/udp/udp_payload.h"

namespace weir {

// A packet stage behind Parse, hosts of groups, Reassemble and VerifyChecksums:
// which groups are wanted is the hosts' to say. What passes has a payload that
// FindUdpPayload finds. Answers (PacketInfo::kAnswer) pass. Owner lcore only.
class SelectUdp {
 public:
  enum class Drop : uint8_t {
    kNotIp,
    kNotGroup,
    kNotUdp,
    kFragment,
    kPort,
    kLength,
  };
  static constexpr absl::string_view kName = "select-udp";
  static constexpr std::array<absl::string_view, 6> kDropNames = {
      "not IP",   "not to a group",   "not UDP",
      "fragment", "another UDP port", "UDP length"};

  // Of datagrams to `port`, counted in `counts`.
  SelectUdp(uint16_t port, std::shared_ptr<GroupCounts> counts) noexcept
      : port_(port), counts_(std::move(counts)) {}

  Verdict OnPacket(Mbuf& packet, Lcore&) noexcept {
    const PacketInfo& info = packet.info();
    if ((info.flags & PacketInfo::kAnswer) != 0) return Verdict::Pass();
    if (info.l3 == L3::kIpv4) return Select<net::Ipv4Header>(packet);
    if (info.l3 == L3::kIpv6) return Select<net::Ipv6Header>(packet);
    return Verdict::Drop(Drop::kNotIp);
  }

 private:
  template <typename Header>
  Verdict Select(const Mbuf& packet) noexcept {
    const PacketInfo& info = packet.info();
    const auto group =
        net::LoadHeader<Header>(packet.bytes(), info.l3_offset).destination;
    if (!net::IsGroup(group)) return Verdict::Drop(Drop::kNotGroup);
    if (info.protocol != net::kProtocolUdp) return Verdict::Drop(Drop::kNotUdp);
    if (info.is_fragment()) return Verdict::Drop(Drop::kFragment);
    const auto payload = FindUdpPayload(packet);
    if (!payload) return Verdict::Drop(Drop::kLength);
    const auto udp =
        net::LoadHeader<net::UdpHeader>(packet.bytes(), info.l4_offset);
    if (udp.destination_port != port_) return Verdict::Drop(Drop::kPort);
    counts_->Add(group, payload->bytes);
    return Verdict::Pass();
  }

  Be16 port_;
  std::shared_ptr<GroupCounts> counts_;
};

static_assert(PacketStage<SelectUdp>);

}  // namespace weir

#endif  // WEIR_STAGE_UDP_SELECT_UDP_H_
