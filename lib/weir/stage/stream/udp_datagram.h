// Where the payload of a UDP datagram is, and whose stream it is of.

#ifndef WEIR_STAGE_STREAM_UDP_DATAGRAM_H_
#define WEIR_STAGE_STREAM_UDP_DATAGRAM_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/ip_protocol.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/net/udp.h"
#include "weir/stage/chain_bytes.h"
#include "weir/stage/stream/stream_table.h"

namespace weir {

// Of one packet, which outlives it. Owner lcore only.
class UdpDatagram {
 public:
  // Nothing if `packet`, which Parse has seen, is none, or a fragment of one.
  static std::optional<UdpDatagram> Of(const Mbuf& packet) noexcept {
    const PacketInfo& info = packet.info();
    if (info.protocol != net::kProtocolUdp || !info.is_ip() ||
        info.is_fragment()) {
      return std::nullopt;
    }
    UdpDatagram datagram(packet);
    if (!datagram.ReadAddresses()) return std::nullopt;
    return datagram;
  }

  // With an id of 0.
  const StreamKey& key() const noexcept { return key_; }
  // Of the payload within the frame, and how long it is.
  size_t payload_offset() const noexcept { return offset_; }
  size_t payload_bytes() const noexcept { return bytes_; }

  // The header of type T that the payload begins with; nothing if it is
  // shorter.
  template <typename T>
  std::optional<T> Front() const noexcept {
    static_assert(std::is_trivial_v<T> && alignof(T) == 1);
    if (bytes_ < sizeof(T)) return std::nullopt;
    std::array<std::byte, sizeof(T)> bytes;
    if (packet_->data_bytes() >= offset_ + sizeof(T)) [[likely]] {
      std::memcpy(bytes.data(), packet_->data() + offset_, sizeof(T));
    } else if (CopyFrom(*packet_, offset_, bytes) != sizeof(T)) {
      return std::nullopt;
    }
    return std::bit_cast<T>(bytes);
  }

 private:
  explicit UdpDatagram(const Mbuf& packet) noexcept : packet_(&packet) {}

  // The header at `offset`, which has to be in the first segment.
  template <typename T>
  bool Load(size_t offset, T& header) const noexcept {
    if (packet_->data_bytes() < offset + sizeof(T)) return false;
    std::memcpy(&header, packet_->data() + offset, sizeof(T));
    return true;
  }

  bool ReadAddresses() noexcept {
    const PacketInfo& info = packet_->info();
    net::UdpHeader udp;
    if (!Load(info.l4_offset, udp)) return false;
    if (info.l3 == L3::kIpv4) {
      net::Ipv4Header ip;
      if (!Load(info.l3_offset, ip)) return false;
      key_.words[1] = WordOf(ip.source);
      key_.words[3] = WordOf(ip.destination);
    } else {
      net::Ipv6Header ip;
      if (!Load(info.l3_offset, ip)) return false;
      std::memcpy(&key_.words[0], &ip.source, sizeof ip.source);
      std::memcpy(&key_.words[2], &ip.destination, sizeof ip.destination);
    }
    key_.words[4] = uint64_t{udp.source_port.host()} << 48 |
                    uint64_t{udp.destination_port.host()} << 32;
    offset_ = info.l4_offset + sizeof udp;
    const size_t end = packet_->frame_bytes() - info.trailer_bytes;
    const size_t length = udp.length.host();
    if (end < offset_ || length < sizeof udp) return false;
    bytes_ = std::min(end - offset_, length - sizeof udp);
    return true;
  }

  // The second half of a mapped address.
  static uint64_t WordOf(const net::Ipv4Address& address) noexcept {
    const auto& o = address.octets;
    return std::bit_cast<uint64_t>(
        std::array<uint8_t, 8>{0, 0, 0xff, 0xff, o[0], o[1], o[2], o[3]});
  }

  const Mbuf* packet_;
  StreamKey key_;
  size_t offset_ = 0;
  size_t bytes_ = 0;
};

}  // namespace weir

#endif  // WEIR_STAGE_STREAM_UDP_DATAGRAM_H_
