#include "test/support/frame.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace weir {
namespace {

constexpr uint16_t kTypeIpv4 = 0x0800;
constexpr uint16_t kTypeIpv6 = 0x86dd;
constexpr uint8_t kProtocolIcmp = 1;
constexpr uint8_t kProtocolTcp = 6;
constexpr uint8_t kProtocolUdp = 17;
constexpr uint8_t kProtocolFragment = 44;
constexpr uint8_t kProtocolIcmp6 = 58;
// For experiments (RFC 3692 §2.1): what bytes without a protocol are.
constexpr uint8_t kProtocolRaw = 253;

void Put8(Bytes& out, unsigned value) {
  out.push_back(static_cast<std::byte>(value & 0xff));
}

void Put16(Bytes& out, unsigned value) {
  Put8(out, value >> 8);
  Put8(out, value);
}

void Put32(Bytes& out, uint32_t value) {
  Put16(out, value >> 16);
  Put16(out, value & 0xffff);
}

void PutBytes(Bytes& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void PutMac(Bytes& out, const net::MacAddress& mac) {
  for (const uint8_t octet : mac.octets) Put8(out, octet);
}

void PutAddress(Bytes& out, int family, const std::string& text) {
  Bytes address(family == AF_INET ? 4 : 16);
  if (inet_pton(family, text.c_str(), address.data()) != 1) std::abort();
  PutBytes(out, address);
}

void Set16(Bytes& out, size_t at, unsigned value) {
  out[at] = static_cast<std::byte>(value >> 8 & 0xff);
  out[at + 1] = static_cast<std::byte>(value & 0xff);
}

uint16_t Narrow(size_t value) { return static_cast<uint16_t>(value); }

// The sum over pseudo-header, header and payload that UDP, TCP and ICMPv6
// carry (RFC 768, RFC 9293 §3.1, RFC 8200 §8.1).
uint16_t TransportChecksum(Bytes pseudo_header, uint8_t protocol,
                           const Bytes& header, const Bytes& payload) {
  const size_t length = header.size() + payload.size();
  if (!pseudo_header.empty()) {
    Put32(pseudo_header, static_cast<uint32_t>(length));
    Put32(pseudo_header, protocol);
  }
  PutBytes(pseudo_header, header);
  PutBytes(pseudo_header, payload);
  return ReferenceChecksum(pseudo_header);
}

}  // namespace

uint16_t ReferenceChecksum(std::span<const std::byte> bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto octet = std::to_integer<uint64_t>(bytes[i]);
    sum += i % 2 == 0 ? octet << 8 : octet;
  }
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum & 0xffff);
}

Bytes MakeBytes(std::initializer_list<int> bytes) {
  Bytes made;
  for (const int byte : bytes) made.push_back(static_cast<std::byte>(byte));
  return made;
}

std::string Hex(std::span<const std::byte> bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0 && i % 2 == 0) text += ' ';
    text += kDigits[std::to_integer<size_t>(bytes[i]) >> 4];
    text += kDigits[std::to_integer<size_t>(bytes[i]) & 0xf];
  }
  return text;
}

Bytes RandomBytes(size_t size_bytes, uint64_t seed) {
  Bytes bytes;
  bytes.reserve(size_bytes);
  // splitmix64 (Steele, Lea, Flood 2014): any seed is a good one.
  for (uint64_t state = seed; bytes.size() < size_bytes;) {
    state += 0x9e3779b97f4a7c15;
    uint64_t mixed = state;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    Put8(bytes, static_cast<unsigned>((mixed ^ mixed >> 31) & 0xff));
  }
  return bytes;
}

Frame& Frame::Append(Layer layer) {
  layers_.push_back(std::move(layer));
  return *this;
}

Frame& Frame::Eth(const net::MacAddress& destination,
                  const net::MacAddress& source) {
  return Append({.finish = [=](const Context& context) {
    Bytes out;
    PutMac(out, destination);
    PutMac(out, source);
    Put16(out, context.next_type);
    return out;
  }});
}

Frame& Frame::Eth(const net::MacAddress& destination,
                  const net::MacAddress& source, uint16_t type) {
  return Append({.finish = [=](const Context&) {
    Bytes out;
    PutMac(out, destination);
    PutMac(out, source);
    Put16(out, type);
    return out;
  }});
}

Frame& Frame::Vlan(uint16_t tci, uint16_t tpid) {
  return Append({.type = tpid, .finish = [=](const Context& context) {
                   Bytes out;
                   Put16(out, tci);
                   Put16(out, context.next_type);
                   return out;
                 }});
}

Frame& Frame::Ipv4(const std::string& source, const std::string& destination,
                   const Ipv4Fields& fields) {
  if (layers_.empty()) Eth(kTestMacB, kTestMacA);
  Bytes addresses;
  PutAddress(addresses, AF_INET, source);
  PutAddress(addresses, AF_INET, destination);
  auto finish = [=](const Context& context) {
    const size_t header_bytes = 20 + fields.options.size();
    const unsigned flags = (fields.dont_fragment ? 0x4000U : 0U) |
                           (fields.more_fragments ? 0x2000U : 0U);
    Bytes out;
    Put8(out, 0x40U | static_cast<unsigned>(header_bytes / 4));
    Put8(out, fields.tos);
    Put16(out, fields.total_length_bytes.value_or(
                   Narrow(header_bytes + context.behind.size())));
    Put16(out, fields.id);
    Put16(out, flags | fields.fragment_offset_bytes / 8U);
    Put8(out, fields.ttl);
    Put8(out, fields.protocol.value_or(context.next_protocol));
    Put16(out, 0);
    PutBytes(out, addresses);
    PutBytes(out, fields.options);
    Set16(out, 10, fields.checksum.value_or(ReferenceChecksum(out)));
    return out;
  };
  return Append({.type = kTypeIpv4, .addresses = addresses, .finish = finish});
}

Frame& Frame::Ipv6(const std::string& source, const std::string& destination,
                   const Ipv6Fields& fields) {
  if (layers_.empty()) Eth(kTestMacB, kTestMacA);
  Bytes addresses;
  PutAddress(addresses, AF_INET6, source);
  PutAddress(addresses, AF_INET6, destination);
  auto finish = [=](const Context& context) {
    Bytes out;
    Put32(out, 0x60000000U | uint32_t{fields.traffic_class} << 20 |
                   (fields.flow_label & 0xfffffU));
    Put16(out,
          fields.payload_length_bytes.value_or(Narrow(context.behind.size())));
    Put8(out, fields.next_header.value_or(context.next_protocol));
    Put8(out, fields.hop_limit);
    PutBytes(out, addresses);
    return out;
  };
  return Append({.type = kTypeIpv6,
                 .addresses = addresses,
                 .is_ipv6 = true,
                 .finish = finish});
}

Frame& Frame::Ipv6Fragment(const Ipv6FragmentFields& fields) {
  return Append(
      {.protocol = kProtocolFragment, .finish = [=](const Context& context) {
         Bytes out;
         Put8(out, fields.next_header.value_or(context.next_protocol));
         Put8(out, 0);
         Put16(out, (fields.offset_bytes & 0xfff8U) |
                        (fields.more_fragments ? 1U : 0U));
         Put32(out, fields.id);
         return out;
       }});
}

Frame& Frame::Udp(uint16_t source_port, uint16_t destination_port,
                  const UdpFields& fields) {
  return Append(
      {.protocol = kProtocolUdp, .finish = [=](const Context& context) {
         Bytes out;
         Put16(out, source_port);
         Put16(out, destination_port);
         Put16(out,
               fields.length_bytes.value_or(Narrow(8 + context.behind.size())));
         Put16(out, 0);
         const uint16_t sum = TransportChecksum(
             context.pseudo_header, kProtocolUdp, out, context.behind);
         // RFC 768: zero says that there is no checksum.
         Set16(out, 6, fields.checksum.value_or(sum == 0 ? 0xffff : sum));
         return out;
       }});
}

Frame& Frame::Tcp(uint16_t source_port, uint16_t destination_port,
                  const TcpFields& fields) {
  return Append(
      {.protocol = kProtocolTcp, .finish = [=](const Context& context) {
         Bytes out;
         Put16(out, source_port);
         Put16(out, destination_port);
         Put32(out, fields.sequence);
         Put32(out, fields.acknowledgment);
         Put8(out, 0x50);
         Put8(out, fields.flags);
         Put16(out, fields.window);
         Put32(out, 0);
         Set16(out, 16,
               fields.checksum.value_or(TransportChecksum(
                   context.pseudo_header, kProtocolTcp, out, context.behind)));
         return out;
       }});
}

Frame& Frame::Echo(const EchoFields& fields) {
  const bool v6 = std::any_of(layers_.begin(), layers_.end(),
                              [](const Layer& layer) { return layer.is_ipv6; });
  const uint8_t protocol = v6 ? kProtocolIcmp6 : kProtocolIcmp;
  return Append({.protocol = protocol, .finish = [=](const Context& context) {
                   Bytes out;
                   Put8(out, v6 ? (fields.reply ? 129 : 128)
                                : (fields.reply ? 0 : 8));
                   Put8(out, 0);
                   Put16(out, 0);
                   Put16(out, fields.id);
                   Put16(out, fields.sequence);
                   // RFC 792: no pseudo-header in version 4.
                   Set16(out, 2,
                         fields.checksum.value_or(TransportChecksum(
                             v6 ? context.pseudo_header : Bytes(), protocol,
                             out, context.behind)));
                   return out;
                 }});
}

Frame& Frame::Payload(size_t size_bytes, uint64_t seed) {
  return Raw(RandomBytes(size_bytes, seed));
}

Frame& Frame::Raw(std::span<const std::byte> bytes) {
  return Append({.protocol = 0,
                 .finish = [copy = Bytes(bytes.begin(), bytes.end())](
                               const Context&) { return copy; }});
}

Frame& Frame::Raw(std::initializer_list<int> bytes) {
  return Raw(MakeBytes(bytes));
}

Frame& Frame::PadTo(size_t size_bytes) {
  pad_to_bytes_ = size_bytes;
  return *this;
}

Frame& Frame::CutTo(size_t size_bytes) {
  cut_to_bytes_ = size_bytes;
  return *this;
}

Bytes Frame::Build() const {
  Bytes behind;
  uint16_t next_type = 0;
  uint8_t next_protocol = kProtocolRaw;
  for (size_t i = layers_.size(); i-- > 0;) {
    Bytes pseudo_header;
    for (size_t j = 0; j < i; ++j) {
      if (!layers_[j].addresses.empty()) pseudo_header = layers_[j].addresses;
    }
    const Layer& layer = layers_[i];
    Bytes header =
        layer.finish({behind, next_type, next_protocol, pseudo_header});
    PutBytes(header, behind);
    behind = std::move(header);
    next_type = layer.type;
    next_protocol = layer.protocol == 0 ? kProtocolRaw : layer.protocol;
  }
  if (behind.size() < pad_to_bytes_) behind.resize(pad_to_bytes_);
  if (cut_to_bytes_.has_value()) {
    behind.resize(std::min(*cut_to_bytes_, behind.size()));
  }
  return behind;
}

}  // namespace weir
