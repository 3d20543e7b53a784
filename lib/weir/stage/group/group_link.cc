#include "weir/stage/group/group_link.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "weir/base/tsc_clock.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/net/load_store.h"
#include "weir/net/mld.h"
#include "weir/stage/chain_bytes.h"

namespace weir {

template <typename P>
GroupLink<P>::GroupLink(const GroupSender<Address>& sender, uint32_t mtu_bytes,
                        uint32_t max_sources)
    : sender_(sender),
      ns_per_tick_(static_cast<uint64_t>(
          (static_cast<unsigned __int128>(1'000'000'000) << 32) / TscHz())),
      mtu_bytes_(mtu_bytes),
      header_bytes_(static_cast<uint32_t>(GroupFrameHeaderBytes<P>(sender))),
      least_bytes_(static_cast<uint32_t>(
          header_bytes_ + GroupHost<P>::MinMessageBytes(max_sources))) {}

template <typename P>
absl::Status GroupLink<P>::Check(absl::string_view name,
                                 const GroupSender<Address>& sender,
                                 uint32_t mtu_bytes, uint32_t max_sources) {
  const size_t least =
      GroupPacketHeaderBytes<P>() + GroupHost<P>::MinMessageBytes(max_sources);
  if (mtu_bytes < least) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": reports of groups with ", max_sources,
                     " sources need an MTU of ", least, " bytes, this one is ",
                     mtu_bytes, "; raise the MTU"));
  }
  if (sender.vlan && (*sender.vlan == 0 || *sender.vlan > 4094)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": want a VLAN from 1 to 4094, got ", *sender.vlan));
  }
  return absl::OkStatus();
}

template <typename P>
uint64_t GroupLink<P>::NowNs(const Lcore& lcore) const noexcept {
  return static_cast<uint64_t>(
      (static_cast<unsigned __int128>(lcore.now_tsc()) * ns_per_tick_) >> 32);
}

// The first byte of what `packet` carries says so for ICMPv6, of which MLD is a
// part.
template <typename P>
bool GroupLink<P>::IsMessage(const Mbuf& packet) noexcept {
  const PacketInfo& info = packet.info();
  if (info.protocol != P::kProtocol || info.is_fragment()) return false;
  if constexpr (P::kProtocol == Igmp::kProtocol) return true;
  const std::span<const std::byte> head = packet.bytes();
  if (info.l4_offset >= head.size()) return false;
  const auto type = static_cast<uint8_t>(head[info.l4_offset]);
  return type == net::kMldQuery || type == net::kMld1Report ||
         type == net::kMld1Done || type == net::kMld2Report;
}

template <typename P>
bool GroupLink<P>::IsOfLink(const Mbuf& packet) const noexcept {
  return IsOnVlan(packet.bytes(), packet.info().l3_offset, sender_.vlan);
}

template <typename P>
HeardMessage<P> GroupLink<P>::Hear(const Mbuf& packet,
                                   Room& room) const noexcept {
  const PacketInfo& info = packet.info();
  const std::span<const std::byte> head = packet.bytes();
  if (!IsOfLink(packet)) return {.fault = GroupFault::kOtherVlan};
  if constexpr (P::kProtocol == Mld::kProtocol) {
    if (!IsMldOfLink(head, info.l3_offset, info.l4_offset)) {
      return {.fault = GroupFault::kNotOfLink};
    }
  }
  const size_t bytes =
      packet.frame_bytes() - info.l4_offset - info.trailer_bytes;
  if (bytes > room.size()) return {.fault = GroupFault::kMalformed};
  std::span<const std::byte> message = std::span(room).first(bytes);
  if (packet.segments() == 1) {
    message = head.subspan(info.l4_offset, bytes);
  } else {
    CopyFrom(packet, info.l4_offset, std::span(room).first(bytes));
  }
  const auto ip = net::LoadHeader<typename P::Header>(head, info.l3_offset);
  if (info.l4_checksum() != ChecksumState::kGood && !P::IsRight(message, ip)) {
    return {.fault = GroupFault::kChecksum};
  }
  const auto read = P::Read(message);
  if (!read) return {.fault = GroupFault::kMalformed};
  return {.fault = {}, .message = *read, .ip = ip};
}

template <typename P>
Mbuf* GroupLink<P>::NewFrame(Lcore& lcore) const noexcept {
  std::array<Mbuf*, 1> one{};
  if (lcore.cache().Alloc(one) == 0) return nullptr;
  Mbuf& frame = *one[0];
  frame.Reset(lcore.cache().pool().headroom_bytes());
  if (frame.tailroom_bytes() < least_bytes_) {
    Discard(frame, lcore);
    return nullptr;
  }
  const uint32_t room = std::min<uint32_t>(
      frame.tailroom_bytes() - header_bytes_,
      mtu_bytes_ - static_cast<uint32_t>(GroupPacketHeaderBytes<P>()));
  frame.SetLength(header_bytes_ + room);
  return &frame;
}

template <typename P>
std::span<std::byte> GroupLink<P>::MessageRoom(Mbuf& frame) const noexcept {
  return frame.bytes().subspan(header_bytes_);
}

template <typename P>
void GroupLink<P>::Finish(
    Mbuf& frame, const GroupOutgoing<Address>& message) const noexcept {
  frame.SetLength(header_bytes_ + static_cast<uint32_t>(message.bytes));
  FinishGroupFrame<P>(frame.bytes(), sender_, message.destination);
  PacketInfo& info = frame.info();
  info.l3 = kFamily;
  info.l3_offset =
      static_cast<uint16_t>(header_bytes_ - GroupPacketHeaderBytes<P>());
  info.l4_offset = static_cast<uint16_t>(header_bytes_);
  info.protocol = P::kProtocol;
  info.flags = PacketInfo::kAnswer;
  info.set_ip_checksum(ChecksumState::kGood);
  info.set_l4_checksum(ChecksumState::kGood);
}

template <typename P>
void GroupLink<P>::Discard(Mbuf& frame, Lcore& lcore) noexcept {
  const std::array<Mbuf*, 1> unused = {&frame};
  lcore.cache().FreePackets(unused);
}

template class GroupLink<Igmp>;
template class GroupLink<Mld>;

}  // namespace weir
