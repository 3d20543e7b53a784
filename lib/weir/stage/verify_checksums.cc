#include "weir/stage/verify_checksums.h"

#include <cstddef>
#include <span>

#include "weir/net/checksum.h"
#include "weir/net/ipv4.h"
#include "weir/net/load_store.h"
#include "weir/stage/chain_bytes.h"

namespace weir {
namespace {

using net::ChecksumKind;
using net::ChecksumVerdict;

// What the device looked at: the rest of the kinds it does not know.
bool DeviceHasLooked(const PacketInfo& info, ChecksumKind kind) noexcept {
  return (info.flags & PacketInfo::kDeviceChecked) != 0 &&
         (kind == ChecksumKind::kTcp || kind == ChecksumKind::kUdp);
}

// Of a part that the device has passed: a device passes UDP without a checksum.
ChecksumVerdict VerdictOfDevice(const net::TransportPart& part) noexcept {
  if (net::CoveredBytes(part) == 0) return ChecksumVerdict::kWrongLength;
  if (part.kind == ChecksumKind::kUdp &&
      net::LoadHeader<Be16>(part.front, 6) == Be16(0)) {
    return part.is_ipv6 ? ChecksumVerdict::kForbiddenZero
                        : ChecksumVerdict::kAbsent;
  }
  return ChecksumVerdict::kGood;
}

ChecksumVerdict Judge(const Mbuf& packet,
                      const net::TransportPart& part) noexcept {
  const PacketInfo& info = packet.info();
  if (DeviceHasLooked(info, part.kind)) return VerdictOfDevice(part);
  const size_t start = info.l4_offset;
  if (part.front.size() >= part.length_bytes) {
    return net::VerifyChecksum(part, part.front);
  }
  return net::VerifyChecksum(part, [&packet, start](size_t offset, size_t bytes,
                                                    const auto& take) noexcept {
    ForEachPiece(packet, start + offset, bytes, take);
  });
}

}  // namespace

VerifyChecksums::VerifyChecksums(const ChecksumRules& rules) noexcept
    : rules_{ChecksumRule::kIgnore, rules.tcp,  rules.udp,
             rules.udp_lite,        rules.sctp, rules.icmp,
             rules.icmp6,           rules.igmp},
      ipv4_(rules.ipv4),
      allow_udp6_without_(rules.allow_udp6_without),
      allow_partial_(rules.allow_partial) {}

bool VerifyChecksums::HasGoodHeader(Mbuf& packet) const noexcept {
  PacketInfo& info = packet.info();
  if ((info.flags & PacketInfo::kDeviceChecked) != 0) {
    info.set_ip_checksum(ChecksumState::kGood);
    return true;
  }
  const std::span<const std::byte> bytes = packet.bytes();
  ChecksumState state = ChecksumState::kUnverifiable;
  if (bytes.size() >= info.l3_offset + sizeof(net::Ipv4Header)) {
    const auto at = bytes.subspan(info.l3_offset);
    const size_t size = net::LoadHeader<net::Ipv4Header>(at, 0).header_bytes();
    if (size >= sizeof(net::Ipv4Header) && size <= at.size()) {
      net::InternetSum sum;
      sum.Add(at.first(size));
      state = sum.Checksum() == Be16(0) ? ChecksumState::kGood
                                        : ChecksumState::kBad;
    }
  }
  info.set_ip_checksum(state);
  return state != ChecksumState::kBad;
}

Verdict VerifyChecksums::Mark(Mbuf& packet, ChecksumKind kind,
                              ChecksumState state, Drop drop) const noexcept {
  packet.info().set_l4_checksum(state);
  return rules_[static_cast<size_t>(kind)] == ChecksumRule::kDrop
             ? Verdict::Drop(drop)
             : Verdict::Pass();
}

Verdict VerifyChecksums::JudgeTransport(Mbuf& packet) const noexcept {
  const PacketPart found(packet);
  if (found.status() == PacketPart::Status::kNone) return Verdict::Pass();
  const ChecksumKind kind = found.kind();
  if (rules_[static_cast<size_t>(kind)] == ChecksumRule::kIgnore) {
    return Verdict::Pass();
  }
  if (found.status() == PacketPart::Status::kCutShort) {
    return Mark(packet, kind, ChecksumState::kUnverifiable, Drop::kCutShort);
  }
  if (found.status() == PacketPart::Status::kUnknownRoute) {
    packet.info().set_l4_checksum(ChecksumState::kUnverifiable);
    return Verdict::Pass();
  }
  ChecksumState passed = ChecksumState::kGood;
  switch (Judge(packet, found.part())) {
    case ChecksumVerdict::kGood:
      break;
    case ChecksumVerdict::kAbsent:
      passed = ChecksumState::kAbsent;
      break;
    case ChecksumVerdict::kBad:
      // The reasons of the kinds are in their order.
      return Mark(packet, kind, ChecksumState::kBad, static_cast<Drop>(kind));
    case ChecksumVerdict::kPartial:
      if (!allow_partial_) {
        return Mark(packet, kind, ChecksumState::kBad, Drop::kPartial);
      }
      passed = ChecksumState::kPartial;
      break;
    case ChecksumVerdict::kForbiddenZero:
      if (kind == ChecksumKind::kUdpLite) {
        return Mark(packet, kind, ChecksumState::kBad, Drop::kUdpLiteWithout);
      }
      if (!allow_udp6_without_) {
        return Mark(packet, kind, ChecksumState::kBad, Drop::kUdp6Without);
      }
      passed = ChecksumState::kAbsent;
      break;
    case ChecksumVerdict::kWrongLength:
      return Mark(packet, kind, ChecksumState::kUnverifiable,
                  Drop::kWrongLength);
  }
  packet.info().set_l4_checksum(passed);
  return Verdict::Pass();
}

}  // namespace weir
