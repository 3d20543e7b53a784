#include "weir/stage/reassembled.h"

#include <cstring>

#include "weir/base/big_endian.h"
#include "weir/net/checksum.h"
#include "weir/net/ethernet.h"
#include "weir/net/ip_protocol.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/net/ipv6_extension.h"
#include "weir/net/llc.h"
#include "weir/net/load_store.h"

namespace weir {
namespace {

using Fault = std::optional<ReassemblyDrop>;

constexpr uint8_t kNotEct = 1 << 0;
constexpr uint8_t kCongestion = 1 << 3;
constexpr uint8_t kEcnMask = 3;

Fault FinishIpv4(Mbuf& frame, const Reassembled& whole) noexcept {
  constexpr uint16_t kDontFragment = 0x4000;
  const PacketInfo& info = frame.info();
  auto& ip = *frame.Header<net::Ipv4Header>(info.l3_offset);
  const uint32_t total = info.l4_offset - info.l3_offset + whole.bytes;
  if (total > UINT16_MAX) return ReassemblyDrop::kTooLarge;
  const auto length = static_cast<uint16_t>(total);
  const auto fragment =
      static_cast<uint16_t>(ip.fragment.host() & kDontFragment);
  // Both fields at once, for the sum does not mind where they stand.
  const auto both = [](uint16_t one, uint16_t other) {
    return Be32(uint32_t{one} << 16 | other);
  };
  ip.checksum = net::UpdateChecksum(
      ip.checksum, both(ip.total_length.host(), ip.fragment.host()),
      both(length, fragment));
  ip.total_length = Be16(length);
  ip.fragment = Be16(fragment);
  if ((whole.ecn_seen & kCongestion) != 0) {
    const uint8_t before = ip.type_of_service;
    ip.type_of_service |= kEcnMask;
    ip.checksum = net::UpdateChecksum(ip.checksum, Be16(before),
                                      Be16(ip.type_of_service));
  }
  return std::nullopt;
}

// The byte that says that the header at `fragment_at` is a fragment header,
// null if the extension headers in front do not lead there.
uint8_t* NextHeaderBefore(Mbuf& frame, uint32_t fragment_at) noexcept {
  auto& ip = *frame.Header<net::Ipv6Header>(frame.info().l3_offset);
  uint8_t* next = &ip.next_header;
  uint32_t at = frame.info().l3_offset + sizeof ip;
  while (at < fragment_at) {
    auto* header = frame.Header<net::Ipv6OptionsHeader>(at);
    if (header == nullptr) return nullptr;
    // A Fragment header in front, of a packet that said it was whole, has no
    // length (RFC 8200 §4.5).
    at += *next == net::kProtocolFragment
              ? static_cast<uint32_t>(sizeof(net::Ipv6FragmentHeader))
          : *next == net::kProtocolAh
              ? 4 * (header->length_units + 2U)
              : static_cast<uint32_t>(header->header_bytes());
    next = &header->next_header;
  }
  const bool found = at == fragment_at && *next == net::kProtocolFragment;
  return found ? next : nullptr;
}

// Out of line, as is what follows, so that IPv4 needs few registers.
[[gnu::noinline]] Fault FinishIpv6(Mbuf& frame,
                                   const Reassembled& whole) noexcept {
  constexpr uint32_t kGone = sizeof(net::Ipv6FragmentHeader);
  PacketInfo& info = frame.info();
  auto& ip = *frame.Header<net::Ipv6Header>(info.l3_offset);
  const uint32_t fragment_at = info.l4_offset - kGone;
  const uint32_t payload = fragment_at - info.l3_offset -
                           static_cast<uint32_t>(sizeof ip) + whole.bytes;
  if (payload > UINT16_MAX) return ReassemblyDrop::kTooLarge;
  uint8_t* const next = NextHeaderBefore(frame, fragment_at);
  if (next == nullptr) return ReassemblyDrop::kNotParsed;
  info.protocol =
      frame.Header<net::Ipv6FragmentHeader>(fragment_at)->next_header;
  info.l4_offset = static_cast<uint16_t>(fragment_at);
  *next = info.protocol;
  ip.payload_length = Be16(static_cast<uint16_t>(payload));
  if ((whole.ecn_seen & kCongestion) != 0) {
    ip.version_class_label =
        Be32(ip.version_class_label.host() | uint32_t{kEcnMask} << 20);
  }
  std::memmove(frame.data() + kGone, frame.data(), fragment_at);
  frame.TrimFront(kGone);
  return std::nullopt;
}

// Takes out 802.2 and SNAP headers in front of the type of the IP packet.
[[gnu::noinline]] void MakeEthernet(Mbuf& frame, bool is_ipv6) noexcept {
  constexpr uint32_t kType = sizeof(Be16);
  constexpr uint32_t kGone = sizeof(net::LlcHeader) + sizeof(net::SnapHeader);
  PacketInfo& info = frame.info();
  const uint32_t l3 = info.l3_offset;
  if (l3 < sizeof(net::EthernetHeader) + kGone) return;
  const uint32_t length_at = l3 - kGone - kType;
  const auto length = net::LoadHeader<Be16>(frame.bytes(), length_at);
  const auto snap_type = net::LoadHeader<Be16>(frame.bytes(), l3 - kType);
  const uint16_t type = is_ipv6 ? net::kEtherTypeIpv6 : net::kEtherTypeIpv4;
  if (length.host() > net::kMaxLengthField || snap_type != Be16(type)) return;
  std::memmove(frame.data() + kGone, frame.data(), length_at);
  frame.TrimFront(kGone);
  info.l3_offset = static_cast<uint16_t>(l3 - kGone);
  info.l4_offset = static_cast<uint16_t>(info.l4_offset - kGone);
}

}  // namespace

std::optional<ReassemblyDrop> Finish(Mbuf& frame,
                                     const Reassembled& whole) noexcept {
  if ((whole.ecn_seen & (kCongestion | kNotEct)) == (kCongestion | kNotEct))
      [[unlikely]] {
    return ReassemblyDrop::kEcn;
  }
  const Fault fault =
      whole.is_ipv6 ? FinishIpv6(frame, whole) : FinishIpv4(frame, whole);
  if (fault.has_value()) [[unlikely]]
    return fault;
  if (frame.info().l3_offset != sizeof(net::EthernetHeader)) [[unlikely]] {
    MakeEthernet(frame, whole.is_ipv6);
  }
  PacketInfo& info = frame.info();
  // No fragment; what the device said, it said of one.
  info.flags = 0;
  info.trailer_bytes = 0;
  info.set_l4_checksum(ChecksumState::kUnknown);
  return std::nullopt;
}

}  // namespace weir
