// Frames for tests, made in one chained expression:
//
//   Frame().Eth(a, b).Vlan(7).Ipv4("10.0.0.1", "10.0.0.2", {.ttl = 1})
//       .Udp(1, 2).Payload(100)
//
// Lengths, next-protocol fields and checksums are filled in by code that
// shares nothing with lib/weir: a slow reference that tests compare against.

#ifndef WEIR_TEST_SUPPORT_FRAME_H_
#define WEIR_TEST_SUPPORT_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/net/mac_address.h"

namespace weir {

using Bytes = std::vector<std::byte>;

// Addresses for tests that do not care.
inline constexpr net::MacAddress kTestMacA{{2, 0, 0, 0, 0, 0xa}};
inline constexpr net::MacAddress kTestMacB{{2, 0, 0, 0, 0, 0xb}};

// What may be said about an IPv4 header (RFC 791 §3.1); what is not set is
// computed from what follows.
struct Ipv4Fields {
  uint8_t tos = 0;
  uint8_t ttl = 64;
  uint16_t id = 0;
  bool dont_fragment = false;
  bool more_fragments = false;
  uint16_t fragment_offset_bytes = 0;
  // A multiple of four bytes, 40 at most.
  Bytes options = {};
  std::optional<uint8_t> protocol = {};
  std::optional<uint16_t> total_length_bytes = {};
  std::optional<uint16_t> checksum = {};
};

// The same for IPv6 (RFC 8200 §3).
struct Ipv6Fields {
  uint8_t traffic_class = 0;
  uint8_t hop_limit = 64;
  uint32_t flow_label = 0;
  std::optional<uint8_t> next_header = {};
  std::optional<uint16_t> payload_length_bytes = {};
};

// The fragment header of IPv6 (RFC 8200 §4.5).
struct Ipv6FragmentFields {
  uint32_t id = 0;
  uint16_t offset_bytes = 0;
  bool more_fragments = false;
  std::optional<uint8_t> next_header = {};
};

// UDP (RFC 768).
struct UdpFields {
  std::optional<uint16_t> length_bytes = {};
  std::optional<uint16_t> checksum = {};
};

// TCP without options (RFC 9293 §3.1). `flags` are the low eight: 0x02 is SYN.
struct TcpFields {
  uint32_t sequence = 0;
  uint32_t acknowledgment = 0;
  uint8_t flags = 0x10;
  uint16_t window = 65535;
  std::optional<uint16_t> checksum = {};
};

// ICMP and ICMPv6 echo (RFC 792, RFC 4443 §4.1): the version follows from the
// IP header in front.
struct EchoFields {
  bool reply = false;
  uint16_t id = 0;
  uint16_t sequence = 0;
  std::optional<uint16_t> checksum = {};
};

// A frame under construction: each call appends a header or bytes. An IP header
// with nothing in front gets an Ethernet header with the test addresses.
// Addresses are text as inet_pton takes it; a wrong one aborts. Any thread.
class Frame {
 public:
  Frame& Eth(const net::MacAddress& destination, const net::MacAddress& source);
  // With an explicit type, or a length for an 802.3 frame.
  Frame& Eth(const net::MacAddress& destination, const net::MacAddress& source,
             uint16_t type);
  // `tci` is priority (3 bits), DEI and VLAN (12 bits); `tpid` 0x88a8 for the
  // outer tag of QinQ.
  Frame& Vlan(uint16_t tci, uint16_t tpid = 0x8100);
  Frame& Ipv4(const std::string& source, const std::string& destination,
              const Ipv4Fields& fields = {});
  Frame& Ipv6(const std::string& source, const std::string& destination,
              const Ipv6Fields& fields = {});
  Frame& Ipv6Fragment(const Ipv6FragmentFields& fields);
  Frame& Udp(uint16_t source_port, uint16_t destination_port,
             const UdpFields& fields = {});
  Frame& Tcp(uint16_t source_port, uint16_t destination_port,
             const TcpFields& fields = {});
  Frame& Echo(const EchoFields& fields = {});
  // `size_bytes` pseudo-random bytes: the same for the same size and seed.
  Frame& Payload(size_t size_bytes, uint64_t seed = 1);
  // These bytes.
  Frame& Raw(std::span<const std::byte> bytes);
  Frame& Raw(std::initializer_list<int> bytes);
  // Zeros behind the payload up to a frame of `size_bytes`; not part of any
  // length or checksum.
  Frame& PadTo(size_t size_bytes);
  // The frame ends after `size_bytes`, whatever its headers say.
  Frame& CutTo(size_t size_bytes);

  // The finished frame, without FCS.
  Bytes Build() const;

 private:
  // What a header knows when it is finished: the bytes behind it, the protocol
  // number of what follows, and the IP header in front.
  struct Context {
    const Bytes& behind;
    uint16_t next_type;
    uint8_t next_protocol;
    const Bytes& pseudo_header;
  };

  struct Layer {
    // The EtherType or protocol number that says this layer follows; 0: none.
    uint16_t type = 0;
    uint8_t protocol = 0;
    // Addresses of an IP header as they stand in a pseudo-header.
    Bytes addresses = {};
    bool is_ipv6 = false;
    std::function<Bytes(const Context&)> finish;
  };

  Frame& Append(Layer layer);

  std::vector<Layer> layers_;
  size_t pad_to_bytes_ = 0;
  std::optional<size_t> cut_to_bytes_;
};

// The Internet checksum (RFC 1071 §1), one 16-bit word after the other, as the
// number that stands in the header.
uint16_t ReferenceChecksum(std::span<const std::byte> bytes);

// Bytes from numbers and characters.
Bytes MakeBytes(std::initializer_list<int> bytes);

// "0800 4500 1c": for comparisons that fail readably.
std::string Hex(std::span<const std::byte> bytes);

// `size_bytes` pseudo-random bytes: the same for the same size and seed.
Bytes RandomBytes(size_t size_bytes, uint64_t seed);

}  // namespace weir

#endif  // WEIR_TEST_SUPPORT_FRAME_H_
