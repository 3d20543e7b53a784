#include "weir/stage/group/membership_host.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "weir/base/big_endian.h"
#include "weir/base/tsc_clock.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/ethernet.h"
#include "weir/net/group_address.h"
#include "weir/net/icmp.h"
#include "weir/net/ip_protocol.h"
#include "weir/net/load_store.h"
#include "weir/net/mld.h"
#include "weir/stage/chain_bytes.h"

namespace weir {
namespace {

// Messages are a packet at most, and packets of a link rarely longer; what is
// does not hold up a queue.
constexpr size_t kMaxMessageBytes = 9216;

template <typename P>
constexpr L3 kFamily = P::kProtocol == Igmp::kProtocol ? L3::kIpv4 : L3::kIpv6;

// The first byte of what `packet` carries says so for ICMPv6, of which MLD is a
// part.
template <typename P>
bool IsMessage(const Mbuf& packet) noexcept {
  const PacketInfo& info = packet.info();
  if (info.protocol != P::kProtocol || info.is_fragment()) return false;
  if constexpr (P::kProtocol == Igmp::kProtocol) return true;
  const std::span<const std::byte> head = packet.bytes();
  if (info.l4_offset >= head.size()) return false;
  const auto type = static_cast<uint8_t>(head[info.l4_offset]);
  return type == net::kMldQuery || type == net::kMld1Report ||
         type == net::kMld1Done || type == net::kMld2Report;
}

}  // namespace

template <typename P>
absl::StatusOr<typename MembershipHost<P>::Ends> MembershipHost<P>::Create(
    const MembershipOptions<P>& options) {
  const size_t least = GroupPacketHeaderBytes<P>() +
                       GroupHost<P>::MinMessageBytes(options.host.max_sources);
  if (options.mtu_bytes < least) {
    return absl::InvalidArgumentError(absl::StrCat(
        kName, ": reports of groups with ", options.host.max_sources,
        " sources need an MTU of ", least, " bytes, this one is ",
        options.mtu_bytes, "; allow fewer sources"));
  }
  if (options.sender.vlan &&
      (*options.sender.vlan == 0 || *options.sender.vlan > 4094)) {
    return absl::InvalidArgumentError(absl::StrCat(
        kName, ": want a VLAN from 1 to 4094, got ", *options.sender.vlan));
  }
  auto [control, host] = MakeRequestedHost<P>(options.host);
  return Ends{std::move(control), MembershipHost(std::move(host), options)};
}

template <typename P>
MembershipHost<P>::MembershipHost(RequestedHost<P> host,
                                  const MembershipOptions<P>& options)
    : host_(std::move(host)),
      ns_per_tick_(static_cast<uint64_t>(
          (static_cast<unsigned __int128>(1'000'000'000) << 32) / TscHz())),
      least_bytes_(static_cast<uint32_t>(
          GroupFrameHeaderBytes<P>(options.sender) +
          GroupHost<P>::MinMessageBytes(options.host.max_sources))),
      sender_(options.sender),
      mtu_bytes_(options.mtu_bytes) {}

template <typename P>
uint64_t MembershipHost<P>::NowNs(const Lcore& lcore) const noexcept {
  return static_cast<uint64_t>(
      (static_cast<unsigned __int128>(lcore.now_tsc()) * ns_per_tick_) >> 32);
}

template <typename P>
void MembershipHost<P>::Tick(Lcore& lcore) noexcept {
  const uint64_t followed = host_.followed();
  now_ns_ = NowNs(lcore);
  has_more_ = host_.Tick(now_ns_);
  has_last_ = has_last_ && followed == host_.followed();
}

template <typename P>
void MembershipHost<P>::Arm(Sleep& sleep) const noexcept {
  const uint64_t next_ns = host_.host().next_ns();
  if (next_ns == GroupHost<P>::kNever) return;
  sleep.WakeWithin(next_ns - std::min(next_ns, now_ns_));
}

template <typename P>
void MembershipHost<P>::OnBurst(Burst& burst, Lcore& lcore) noexcept {
  const uint64_t now_ns = NowNs(lcore);
  std::array<Mbuf*, kMaxBurst> packets;
  const uint32_t count = burst.size();
  std::copy_n(burst.mbufs().begin(), count, packets.begin());
  burst.ReleaseAll();
  for (Mbuf* const packet : std::span(packets).first(count)) {
    const Fate fate = Look(*packet, now_ns);
    if (fate.passes) [[likely]] {
      burst.Adopt(*packet);
      continue;
    }
    Counter& counter = fate.drop
                           ? counts_.drops[static_cast<size_t>(*fate.drop)]
                           : counts_.taken;
    counter.Add(1);
    const std::array<Mbuf*, 1> gone = {packet};
    lcore.cache().FreePackets(gone);
  }
  Say(burst, lcore, now_ns);
}

template <typename P>
typename MembershipHost<P>::Fate MembershipHost<P>::Look(
    const Mbuf& packet, uint64_t now_ns) noexcept {
  const PacketInfo& info = packet.info();
  if (info.l3 != kFamily<P>) return {.passes = true, .drop = {}};
  if (IsMessage<P>(packet)) [[unlikely]]
    return LookAtMessage(packet, now_ns);
  const auto ip =
      net::LoadHeader<typename P::Header>(packet.bytes(), info.l3_offset);
  // What else ICMPv6 says to groups of the link is none of ours.
  if (!net::IsGroup(ip.destination) || info.protocol == net::kProtocolIcmp6) {
    return {.passes = true, .drop = {}};
  }
  if (!IsOfLink(packet)) return {.passes = false, .drop = Drop::kOtherVlan};
  return LookAtAddresses(ip.destination, ip.source);
}

template <typename P>
typename MembershipHost<P>::Fate MembershipHost<P>::LookAtAddresses(
    const Address& group, const Address& source) noexcept {
  if (has_last_ && group == last_group_ && source == last_source_) [[likely]] {
    return {.passes = true, .drop = {}};
  }
  if (host_.host().Accepts(group, source)) {
    has_last_ = true;
    last_group_ = group;
    last_source_ = source;
    return {.passes = true, .drop = {}};
  }
  return {
      .passes = false,
      .drop = host_.host().IsMember(group) ? Drop::kSource : Drop::kNotJoined};
}

template <typename P>
bool MembershipHost<P>::IsOfLink(const Mbuf& packet) const noexcept {
  const size_t l3_offset = packet.info().l3_offset;
  const std::span<const std::byte> head = packet.bytes();
  uint16_t vlan = 0;
  if (l3_offset == sizeof(net::EthernetHeader) + sizeof(net::VlanTag)) {
    const auto ethernet = net::LoadHeader<net::EthernetHeader>(head, 0);
    if (ethernet.type == Be16(net::kEtherTypeVlan)) {
      vlan = net::LoadHeader<Be16>(head, sizeof ethernet).host() & 0xfff;
    }
  } else if (l3_offset > sizeof(net::EthernetHeader)) {
    // More than one tag, or LLC: SNAP is as good as a type without tags.
    const auto type = net::LoadHeader<net::EthernetHeader>(head, 0).type;
    if (type.host() >= net::kMinEtherType) return false;
  }
  return vlan == sender_.vlan.value_or(0);
}

template <typename P>
typename MembershipHost<P>::Fate MembershipHost<P>::LookAtMessage(
    const Mbuf& packet, uint64_t now_ns) noexcept {
  const PacketInfo& info = packet.info();
  const std::span<const std::byte> head = packet.bytes();
  if (!IsOfLink(packet)) return {.passes = false, .drop = Drop::kOtherVlan};
  const auto ip = net::LoadHeader<typename P::Header>(head, info.l3_offset);
  if constexpr (P::kProtocol == Mld::kProtocol) {
    if (!IsMldOfLink(head, info.l3_offset, info.l4_offset)) {
      return {.passes = false, .drop = Drop::kNotOfLink};
    }
  }
  const size_t bytes =
      packet.frame_bytes() - info.l4_offset - info.trailer_bytes;
  std::array<std::byte, kMaxMessageBytes> copy;
  if (bytes > copy.size()) {
    return {.passes = false, .drop = Drop::kMalformed};
  }
  std::span<const std::byte> message = std::span(copy).first(bytes);
  if (packet.segments() == 1) {
    message = head.subspan(info.l4_offset, bytes);
  } else {
    CopyFrom(packet, info.l4_offset, std::span(copy).first(bytes));
  }
  if (info.l4_checksum() != ChecksumState::kGood && !P::IsRight(message, ip)) {
    return {.passes = false, .drop = Drop::kChecksum};
  }
  const auto read = P::Read(message);
  if (!read) return {.passes = false, .drop = Drop::kMalformed};
  Hear(*read, ip.destination, now_ns);
  return {.passes = false, .drop = {}};
}

template <typename P>
void MembershipHost<P>::Hear(const GroupMessage<Address>& message,
                             const Address& to, uint64_t now_ns) noexcept {
  if (message.kind != GroupMessage<Address>::Kind::kQuery) {
    messages_.reports_heard.Add(1);
  } else if (to == P::kAllHosts || to == sender_.address ||
             (to == message.group && message.group != Address{})) {
    messages_.queries.Add(1);
  } else {
    messages_.other_queries.Add(1);
    return;
  }
  host_.host().OnMessage(message, now_ns);
}

// With room for any report; null if there is none.
template <typename P>
Mbuf* MembershipHost<P>::NewFrame(Lcore& lcore) noexcept {
  std::array<Mbuf*, 1> one{};
  if (lcore.cache().Alloc(one) == 0) return nullptr;
  one[0]->Reset(lcore.cache().pool().headroom_bytes());
  if (one[0]->tailroom_bytes() >= least_bytes_) return one[0];
  lcore.cache().FreePackets(one);
  return nullptr;
}

template <typename P>
void MembershipHost<P>::Say(Burst& burst, Lcore& lcore,
                            uint64_t now_ns) noexcept {
  while (burst.room() != 0 && (has_more_ || host_.host().next_ns() <= now_ns)) {
    Mbuf* const made = NewFrame(lcore);
    if (made == nullptr) {
      messages_.no_mbuf.Add(1);
      has_more_ = false;
      return;
    }
    Mbuf& frame = *made;
    const auto header_bytes =
        static_cast<uint32_t>(GroupFrameHeaderBytes<P>(sender_));
    const uint32_t room = std::min<uint32_t>(
        frame.tailroom_bytes() - header_bytes,
        mtu_bytes_ - static_cast<uint32_t>(GroupPacketHeaderBytes<P>()));
    frame.SetLength(header_bytes + room);
    const auto message =
        host_.Take(frame.bytes().subspan(header_bytes), now_ns);
    if (!message) {
      const std::array<Mbuf*, 1> unused = {made};
      lcore.cache().FreePackets(unused);
      has_more_ = false;
      return;
    }
    frame.SetLength(header_bytes + static_cast<uint32_t>(message->bytes));
    FinishGroupFrame<P>(frame.bytes(), sender_, message->destination);
    PacketInfo& info = frame.info();
    info.l3 = kFamily<P>;
    info.l3_offset =
        static_cast<uint16_t>(header_bytes - GroupPacketHeaderBytes<P>());
    info.l4_offset = static_cast<uint16_t>(header_bytes);
    info.protocol = P::kProtocol;
    info.flags = PacketInfo::kAnswer;
    info.set_ip_checksum(ChecksumState::kGood);
    info.set_l4_checksum(ChecksumState::kGood);
    counts_.made.Add(1);
    messages_.reports_sent.Add(1);
    burst.Adopt(frame);
  }
}

template class MembershipHost<Igmp>;
template class MembershipHost<Mld>;

}  // namespace weir
