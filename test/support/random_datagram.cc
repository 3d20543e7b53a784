#include "test/support/random_datagram.h"

#include <algorithm>

namespace weir::testing {
namespace {

// For experiments (RFC 3692 §2.1): nothing is known of its header.
constexpr uint8_t kProtocol = 253;

void Add(Bytes& bytes, const Bytes& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}
void Add8(Bytes& bytes, size_t value) {
  bytes.push_back(std::byte(static_cast<uint8_t>(value)));
}
void Add16(Bytes& bytes, size_t value) {
  Add8(bytes, value >> 8);
  Add8(bytes, value);
}

// Ethernet II with up to two tags, or IEEE 802.3 with LLC and SNAP.
Bytes Layer2(uint16_t type, size_t packet_bytes, std::mt19937& random) {
  Bytes layer2 = MakeBytes({2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1});
  const size_t tags = random() % 3;
  for (size_t i = 0; i < tags; ++i) {
    Add16(layer2, i + 1 == tags ? 0x8100 : 0x88a8);
    Add16(layer2, random());
  }
  if (random() % 4 == 0 && packet_bytes <= 1492) {
    Add16(layer2, 8 + packet_bytes);
    Add(layer2, MakeBytes({0xaa, 0xaa, 3, 0, 0, 0}));
  }
  Add16(layer2, type);
  return layer2;
}

// Options of IPv4 up to `room` bytes: record route, timestamp, router alert,
// source routes, security, no operation (RFC 791 §3.1, RFC 2113).
Bytes Ipv4Options(size_t room, std::mt19937& random) {
  constexpr int kTypes[] = {7, 68, 148, 131, 137, 130, 1, 1};
  Bytes options;
  for (size_t count = random() % 6; count > 0; --count) {
    const int type = kTypes[random() % 8];
    const size_t bytes = type == 1 ? 1 : type == 148 ? 4 : 3 + random() % 12;
    if (options.size() + bytes > room) break;
    Add8(options, static_cast<size_t>(type));
    if (type == 1) continue;
    Add8(options, bytes);
    Add(options, RandomBytes(bytes - 2, random()));
  }
  // The end of the list, where there is room for one.
  options.resize((options.size() + 3) / 4 * 4);
  return options;
}

Bytes Ipv4(const RandomDatagramOptions& options, std::mt19937& random) {
  const size_t room = std::min<size_t>(40, options.packet_bytes - 28) / 4 * 4;
  const Bytes list = Ipv4Options(random() % 2 == 0 ? room : 0, random);
  const size_t data = options.packet_bytes - 20 - list.size();
  size_t word = 0;
  if (options.fragment) {
    const size_t limit = (65535 - data) / 8;
    word = random() % 3 == 0 ? 0 : random() % (limit + 1);
    if (word == 0 || random() % 2 == 0) word |= 0x2000;
  }
  Bytes ip;
  Add8(ip, 0x45 + list.size() / 4);
  Add8(ip, random());
  Add16(ip, options.packet_bytes);
  Add16(ip, random());
  Add16(ip, word);
  Add8(ip, 64);
  Add8(ip, kProtocol);
  Add16(ip, 0);
  Add(ip, MakeBytes({192, 0, 2, 1, 198, 51, 100, 2}));
  Add(ip, list);
  const uint16_t checksum = ReferenceChecksum(ip);
  ip[10] = std::byte(static_cast<uint8_t>(checksum >> 8));
  ip[11] = std::byte(static_cast<uint8_t>(checksum));
  return ip;
}

// An extension header of IPv6 that says `next` follows.
Bytes Extension(uint8_t type, uint8_t next, std::mt19937& random) {
  const size_t units = random() % 3;
  Bytes header;
  Add8(header, next);
  if (type == 51) {
    Add8(header, 4);
    Add(header, RandomBytes(22, random()));
    return header;
  }
  Add8(header, units);
  // Options of one kind that says it may be skipped; of a Routing header any.
  const size_t rest = 6 + 8 * units;
  if (type == 43) {
    // A type for experiments (RFC 4727 §3.3), and nowhere left to go.
    Add8(header, 253);
    Add8(header, 0);
    Add(header, RandomBytes(rest - 2, random()));
    return header;
  }
  Add8(header, 0x1e);
  Add8(header, rest - 2);
  Add(header, RandomBytes(rest - 2, random()));
  return header;
}

Bytes Ipv6(const RandomDatagramOptions& options, std::mt19937& random) {
  std::vector<uint8_t> chain;
  if (random() % 3 == 0) chain.push_back(0);
  if (random() % 4 == 0) chain.push_back(60);
  if (random() % 4 == 0) chain.push_back(43);
  const size_t fragment_at = chain.size();
  if (options.fragment) chain.push_back(44);
  if (!options.fragment && random() % 4 == 0) chain.push_back(51);
  if (!options.fragment && random() % 4 == 0) chain.push_back(60);
  // Destination options in front of a Routing header only are for the way.
  chain.push_back(kProtocol);
  Bytes extensions;
  for (size_t i = 0; i + 1 < chain.size(); ++i) {
    if (!options.fragment || i != fragment_at) {
      Add(extensions, Extension(chain[i], chain[i + 1], random));
      continue;
    }
    const size_t data = options.packet_bytes - 48 - extensions.size();
    const size_t limit = (65535 - data) / 8;
    size_t word = random() % 3 == 0 ? 0 : random() % (limit + 1) * 8;
    if (word == 0 || random() % 2 == 0) word |= 1;
    Add8(extensions, chain[i + 1]);
    Add8(extensions, 0);
    Add16(extensions, word);
    Add16(extensions, random());
    Add16(extensions, random());
  }
  Bytes ip;
  Add8(ip, 0x60 + random() % 16);
  Add8(ip, random());
  Add16(ip, random());
  Add16(ip, options.packet_bytes - 40);
  Add8(ip, chain[0]);
  Add8(ip, 64);
  for (const int last : {1, 2}) {
    Add(ip, MakeBytes({0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
    Add8(ip, static_cast<size_t>(last));
  }
  Add(ip, extensions);
  return ip;
}

}  // namespace

Bytes RandomDatagram(const RandomDatagramOptions& options,
                     std::mt19937& random) {
  Bytes frame =
      Layer2(options.ipv6 ? 0x86dd : 0x800, options.packet_bytes, random);
  const Bytes headers =
      options.ipv6 ? Ipv6(options, random) : Ipv4(options, random);
  Add(frame, headers);
  Add(frame, RandomBytes(options.packet_bytes - headers.size(), random()));
  Add(frame, RandomBytes(random() % (options.max_padding_bytes + 1), random()));
  return frame;
}

}  // namespace weir::testing
