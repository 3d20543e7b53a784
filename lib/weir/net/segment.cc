#include "weir/net/segment.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "weir/base/big_endian.h"
#include "weir/net/checksum.h"
#include "weir/net/ethernet.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/net/load_store.h"
#include "weir/net/tcp.h"
#include "weir/net/udp.h"

namespace weir::net {

std::optional<Segmenter> Segmenter::Create(std::span<const std::byte> frame,
                                           uint8_t protocol,
                                           size_t payload_bytes) noexcept {
  Segmenter segmenter;
  segmenter.frame_ = frame;
  segmenter.protocol_ = protocol;
  segmenter.segment_payload_bytes_ = payload_bytes;
  if (payload_bytes == 0 || !segmenter.ParseEthernet() ||
      !segmenter.ParseTransport()) {
    return std::nullopt;
  }
  return segmenter;
}

// Sets ip_offset_ behind any tags, then reads the IP header there.
bool Segmenter::ParseEthernet() noexcept {
  if (frame_.size() < sizeof(EthernetHeader)) return false;
  uint16_t type = LoadHeader<EthernetHeader>(frame_, 0).type.host();
  ip_offset_ = sizeof(EthernetHeader);
  while (type == kEtherTypeVlan || type == kEtherTypeQinQ) {
    if (frame_.size() < ip_offset_ + sizeof(VlanTag)) return false;
    // Behind the TCI stands the next type.
    type = LoadHeader<Be16>(frame_, ip_offset_ + sizeof(Be16)).host();
    ip_offset_ += sizeof(VlanTag);
  }
  if (type == kEtherTypeIpv4) return ParseIpv4();
  if (type == kEtherTypeIpv6) return ParseIpv6();
  return false;
}

bool Segmenter::ParseIpv4() noexcept {
  if (frame_.size() < ip_offset_ + sizeof(Ipv4Header)) return false;
  const auto ip = LoadHeader<Ipv4Header>(frame_, ip_offset_);
  const size_t total_length = ip.total_length.host();
  if (ip.version() != 4 || ip.header_bytes() < sizeof(Ipv4Header) ||
      ip.is_fragment() || ip.protocol != protocol_) {
    return false;
  }
  // The kernel writes 0 where a super-frame is longer than the field can say.
  if (total_length != 0) {
    if (total_length < ip.header_bytes() ||
        total_length > frame_.size() - ip_offset_) {
      return false;
    }
    frame_ = frame_.first(ip_offset_ + total_length);
  }
  transport_offset_ = ip_offset_ + ip.header_bytes();
  return true;
}

bool Segmenter::ParseIpv6() noexcept {
  if (frame_.size() < ip_offset_ + sizeof(Ipv6Header)) return false;
  const auto ip = LoadHeader<Ipv6Header>(frame_, ip_offset_);
  const size_t payload_length = ip.payload_length.host();
  if (ip.version() != 6) return false;
  is_ipv6_ = true;
  transport_offset_ = ip_offset_ + sizeof(Ipv6Header);
  // 0 as for IPv4 above.
  if (payload_length != 0) {
    if (payload_length > frame_.size() - transport_offset_) return false;
    frame_ = frame_.first(transport_offset_ + payload_length);
  }
  uint8_t next = ip.next_header;
  while (next == kProtocolHopByHop || next == kProtocolDestinationOptions) {
    if (frame_.size() < transport_offset_ + sizeof(Ipv6OptionsHeader)) {
      return false;
    }
    const auto options =
        LoadHeader<Ipv6OptionsHeader>(frame_, transport_offset_);
    next = options.next_header;
    transport_offset_ += options.header_bytes();
  }
  return next == protocol_;
}

bool Segmenter::ParseTransport() noexcept {
  if (protocol_ == kProtocolUdp) {
    payload_offset_ = transport_offset_ + sizeof(UdpHeader);
  } else {
    if (frame_.size() < transport_offset_ + sizeof(TcpHeader)) return false;
    const auto tcp = LoadHeader<TcpHeader>(frame_, transport_offset_);
    if (tcp.header_bytes() < sizeof(TcpHeader)) return false;
    payload_offset_ = transport_offset_ + tcp.header_bytes();
  }
  // Its own lengths must be able to say what a segment holds.
  return payload_offset_ <= frame_.size() &&
         payload_offset_ - ip_offset_ +
                 std::min(segment_payload_bytes_,
                          frame_.size() - payload_offset_) <=
             UINT16_MAX;
}

size_t Segmenter::NextPayloadBytes() const noexcept {
  return std::min(segment_payload_bytes_,
                  frame_.size() - payload_offset_ - written_bytes_);
}

size_t Segmenter::next_bytes() const noexcept {
  const size_t payload = NextPayloadBytes();
  // A frame without payload is one segment.
  if (payload == 0 && written_segments_ > 0) return 0;
  return payload_offset_ + payload;
}

void Segmenter::WriteNext(std::span<std::byte> out) noexcept {
  assert(next_bytes() != 0 && out.size() >= next_bytes());
  const size_t payload = NextPayloadBytes();
  const std::span<std::byte> segment = out.first(payload_offset_ + payload);
  std::memcpy(segment.data(), frame_.data(), payload_offset_);
  std::memcpy(segment.data() + payload_offset_,
              frame_.data() + payload_offset_ + written_bytes_, payload);
  FinishIp(segment);
  if (protocol_ == kProtocolUdp) {
    FinishUdp(segment);
  } else {
    FinishTcp(segment);
  }
  written_bytes_ += payload;
  ++written_segments_;
}

void Segmenter::FinishIp(std::span<std::byte> segment) const noexcept {
  if (is_ipv6_) {
    auto ip = LoadHeader<Ipv6Header>(segment, ip_offset_);
    ip.payload_length = Be16(static_cast<uint16_t>(segment.size() - ip_offset_ -
                                                   sizeof(Ipv6Header)));
    StoreHeader(segment, ip_offset_, ip);
    return;
  }
  auto ip = LoadHeader<Ipv4Header>(segment, ip_offset_);
  ip.total_length = Be16(static_cast<uint16_t>(segment.size() - ip_offset_));
  ip.id = Be16(static_cast<uint16_t>(ip.id.host() + written_segments_));
  ip.checksum = Be16(0);
  StoreHeader(segment, ip_offset_, ip);
  InternetSum sum;
  sum.Add(segment.subspan(ip_offset_, transport_offset_ - ip_offset_));
  ip.checksum = sum.Checksum();
  StoreHeader(segment, ip_offset_, ip);
}

void Segmenter::FinishTcp(std::span<std::byte> segment) const noexcept {
  auto tcp = LoadHeader<TcpHeader>(segment, transport_offset_);
  tcp.sequence =
      Be32(tcp.sequence.host() + static_cast<uint32_t>(written_bytes_));
  const bool is_first = written_segments_ == 0;
  const bool is_last =
      payload_offset_ + written_bytes_ + NextPayloadBytes() == frame_.size();
  const int cleared =
      (is_first ? 0 : kTcpCwr) | (is_last ? 0 : kTcpFin | kTcpPsh);
  tcp.flags = static_cast<uint8_t>(tcp.flags & ~cleared);
  tcp.checksum = Be16(0);
  StoreHeader(segment, transport_offset_, tcp);
  StoreChecksum(segment, transport_offset_ + offsetof(TcpHeader, checksum));
}

void Segmenter::FinishUdp(std::span<std::byte> segment) const noexcept {
  auto udp = LoadHeader<UdpHeader>(segment, transport_offset_);
  udp.length = Be16(static_cast<uint16_t>(segment.size() - transport_offset_));
  udp.checksum = Be16(0);
  StoreHeader(segment, transport_offset_, udp);
  StoreChecksum(segment, transport_offset_ + offsetof(UdpHeader, checksum));
}

// Over pseudo-header, header with a zero field, and payload.
void Segmenter::StoreChecksum(std::span<std::byte> segment,
                              size_t field_offset) const noexcept {
  const auto summed = segment.subspan(transport_offset_);
  const auto length = static_cast<uint16_t>(summed.size());
  InternetSum sum =
      is_ipv6_ ? PseudoHeaderSum(LoadHeader<Ipv6Header>(segment, ip_offset_),
                                 protocol_, length)
               : PseudoHeaderSum(LoadHeader<Ipv4Header>(segment, ip_offset_),
                                 protocol_, length);
  sum.Add(summed);
  // Only UDP needs it; for TCP it is the same number and what the kernel sends.
  StoreHeader(segment, field_offset, NeverZero(sum.Checksum()));
}

}  // namespace weir::net
