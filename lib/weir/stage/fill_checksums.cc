#include "weir/stage/fill_checksums.h"

#include <cstddef>
#include <span>

#include "weir/mbuf/packet_info.h"
#include "weir/net/checksum.h"
#include "weir/net/ipv4.h"
#include "weir/net/load_store.h"
#include "weir/net/transport_checksum.h"
#include "weir/stage/chain_bytes.h"
#include "weir/stage/transport_part.h"

namespace weir {
namespace {

// False if the first segment does not have the header.
bool FillHeader(Mbuf& packet) noexcept {
  PacketInfo& info = packet.info();
  auto* ip = packet.Header<net::Ipv4Header>(info.l3_offset);
  if (ip == nullptr) return false;
  const auto at =
      std::span<const std::byte>(packet.bytes()).subspan(info.l3_offset);
  const size_t size = ip->header_bytes();
  if (size < sizeof(net::Ipv4Header) || size > at.size()) return false;
  ip->checksum = Be16(0);
  net::InternetSum sum;
  sum.Add(at.first(size));
  ip->checksum = sum.Checksum();
  info.set_ip_checksum(ChecksumState::kGood);
  return true;
}

void FillTransport(Mbuf& packet, const net::TransportPart& part,
                   uint32_t covered) noexcept {
  const net::ChecksumPlace place =
      net::kChecksumPlaces[static_cast<size_t>(part.kind)];
  const size_t start = packet.info().l4_offset;
  const size_t field = start + place.offset;
  constexpr net::ChecksumField kZero = {};
  CopyTo(packet, field, std::span(kZero).first(place.field_bytes));
  const net::ChecksumField checksum = net::ComputeChecksum(
      part, covered,
      [&packet, start](size_t offset, size_t bytes, const auto& take) noexcept {
        ForEachPiece<const Mbuf>(packet, start + offset, bytes, take);
      });
  CopyTo(packet, field, std::span(checksum).first(place.field_bytes));
  packet.info().set_l4_checksum(ChecksumState::kGood);
}

}  // namespace

Verdict FillChecksums::OnPacket(Mbuf& packet, Lcore&) noexcept {
  if (packet.info().l3 == L3::kIpv4 && !FillHeader(packet)) {
    return Verdict::Drop(Drop::kCutShort);
  }
  const PacketPart found(packet);
  switch (found.status()) {
    case PacketPart::Status::kNone:
      return Verdict::Pass();
    case PacketPart::Status::kCutShort:
      return Verdict::Drop(Drop::kCutShort);
    case PacketPart::Status::kUnknownRoute:
      return Verdict::Drop(Drop::kUnknownRoute);
    case PacketPart::Status::kFound:
      break;
  }
  const uint32_t covered = net::CoveredBytes(found.part());
  if (covered == 0) return Verdict::Drop(Drop::kWrongLength);
  FillTransport(packet, found.part(), covered);
  return Verdict::Pass();
}

}  // namespace weir
