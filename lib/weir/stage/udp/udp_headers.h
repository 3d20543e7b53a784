// The headers of a stream of datagrams, and packets that begin with them.

#ifndef WEIR_STAGE_UDP_UDP_HEADERS_H_
#define WEIR_STAGE_UDP_UDP_HEADERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/ethernet.h"
#include "weir/net/ip_text.h"
#include "weir/net/ipv6.h"
#include "weir/net/mac_address.h"
#include "weir/net/udp.h"

namespace weir {

// From whom to whom.
struct UdpAddresses {
  net::MacAddress source_mac{};
  // None: that of the group that `destination` is.
  std::optional<net::MacAddress> destination_mac = {};
  net::IpAddress source = net::Ipv4Address{};
  net::IpAddress destination = net::Ipv4Address{};
  uint16_t source_port = 0;
  uint16_t destination_port = 0;
  // Time to live, or hop limit. RFC 1112 §6.1: 1 unless somebody says more.
  uint8_t hops = 1;
  // The VLAN to be on, 1 to 4094; none: frames without a tag.
  std::optional<uint16_t> vlan = {};
};

// Owner lcore only.
class UdpHeaders {
 public:
  // InvalidArgument for addresses of two families, a destination that is
  // neither a group nor has a MAC address, a source that is a group, a
  // destination port of 0, a VLAN that is none. Control thread.
  static absl::StatusOr<UdpHeaders> Create(const UdpAddresses& addresses);

  // In front of the payload.
  size_t bytes() const noexcept { return bytes_; }
  // RFC 768, RFC 791 §3.1, RFC 8200 §3.
  size_t max_payload_bytes() const noexcept {
    return is_ipv6_ ? 65535 - sizeof(net::UdpHeader)
                    : 65535 - sizeof(net::UdpHeader) - 20;
  }

  // What may be in front of payload, at most.
  static constexpr size_t kMaxFrontBytes = 64;

  // A packet with `front`, of kMaxFrontBytes at most, and `payload`, together
  // not longer than that, copied behind the headers, in as many segments as it
  // takes, padded to net::kMinFrameBytes; checksums are left to FillChecksums.
  // Each has another identification than the 65535 before it. Null if there are
  // not enough mbufs.
  Mbuf* Make(std::span<const std::byte> front,
             std::span<const std::byte> payload, MbufCache& cache) noexcept;

 private:
  // With two tags more than there are.
  static constexpr size_t kMaxBytes =
      net::kL2OverheadBytes + sizeof(net::Ipv6Header) + sizeof(net::UdpHeader);

  explicit UdpHeaders(const UdpAddresses& addresses);

  size_t Append(const void* header, size_t bytes) noexcept;
  static void PadToMinimum(Mbuf& packet) noexcept;
  void FinishHeaders(std::span<std::byte> frame, size_t payload_bytes) noexcept;

  std::array<std::byte, kMaxBytes> template_;
  size_t bytes_ = 0;
  size_t l3_offset_ = 0;
  bool is_ipv6_;
  uint16_t id_;
  PacketInfo info_;
};

}  // namespace weir

#endif  // WEIR_STAGE_UDP_UDP_HEADERS_H_
