#include "test/support/naive_checksums.h"

#include <algorithm>
#include <map>
#include <optional>

#include "test/support/frame.h"

namespace weir::testing {
namespace {

using Octets = std::vector<uint8_t>;

Octets ToOctets(std::span<const std::byte> bytes) {
  Octets octets;
  for (const std::byte byte : bytes) {
    octets.push_back(std::to_integer<uint8_t>(byte));
  }
  return octets;
}

size_t Word(const Octets& frame, size_t at) {
  return size_t{frame[at]} << 8 | frame[at + 1];
}

uint16_t ChecksumOf(const Octets& octets) {
  return ReferenceChecksum(std::as_bytes(std::span(octets)));
}

Octets Part(const Octets& frame, size_t begin, size_t end) {
  return {frame.begin() + static_cast<ptrdiff_t>(begin),
          frame.begin() + static_cast<ptrdiff_t>(end)};
}

void Put(Octets& frame, size_t at, const Octets& octets) {
  std::copy(octets.begin(), octets.end(),
            frame.begin() + static_cast<ptrdiff_t>(at));
}

bool IsExtension(uint8_t protocol) {
  return protocol == 0 || protocol == 43 || protocol == 44 || protocol == 60;
}

PacketInfo ParseIpv4(const Octets& frame, size_t at) {
  PacketInfo info;
  if (frame.size() < at + 20 || frame[at] >> 4 != 4) return info;
  const size_t header = size_t{4} * (frame[at] & 15);
  if (header < 20 || at + header > frame.size() ||
      Word(frame, at + 2) < header) {
    return info;
  }
  info.l3 = L3::kIpv4;
  info.l3_offset = static_cast<uint16_t>(at);
  info.l4_offset = static_cast<uint16_t>(at + header);
  info.protocol = frame[at + 9];
  if ((Word(frame, at + 6) & 0x3fff) != 0) info.flags = PacketInfo::kFragment;
  return info;
}

PacketInfo ParseIpv6(const Octets& frame, size_t at) {
  PacketInfo info;
  if (frame.size() < at + 40 || frame[at] >> 4 != 6) return info;
  const size_t end = at + 40 + Word(frame, at + 4);
  uint8_t next = frame[at + 6];
  size_t offset = at + 40;
  bool is_fragment = false;
  while (IsExtension(next) && !is_fragment) {
    if (offset + 8 > std::min(end, frame.size())) return info;
    const size_t size =
        next == 44 ? 8 : size_t{8} * (size_t{frame[offset + 1]} + 1);
    if (offset + size > std::min(end, frame.size())) return info;
    // RFC 6946: offset 0 and no more fragments is none.
    is_fragment = next == 44 && (Word(frame, offset + 2) & 0xfff9) != 0;
    next = frame[offset];
    offset += size;
  }
  info.l3 = L3::kIpv6;
  info.l3_offset = static_cast<uint16_t>(at);
  info.l4_offset = static_cast<uint16_t>(offset);
  info.protocol = next;
  if (is_fragment) info.flags = PacketInfo::kFragment;
  return info;
}

// The end of the packet from its own header's start on.
size_t PacketEnd(const Octets& frame, const PacketInfo& info) {
  const size_t at = info.l3_offset;
  return info.l3 == L3::kIpv4 ? at + Word(frame, at + 2)
                              : at + 40 + Word(frame, at + 4);
}

// Puts the address at the end of a routing header in the second place; false if
// it is not understood. RFC 8200 §4.4, RFC 2460 §4.4, RFC 6275 §6.4, RFC 6554
// §3, RFC 8754 §2.
bool Route(const Octets& header, Octets& both) {
  const size_t size = header.size();
  const int type = header[2];
  if (type == 3) {
    const size_t first = 16 - (header[4] >> 4);
    const size_t last = 16 - (header[4] & 15);
    const size_t padding = header[5] >> 4;
    if (size < 8 + last + padding) return false;
    if ((size - 8 - last - padding) % first != 0) return false;
    Put(both, 32 - last, Part(header, size - padding - last, size - padding));
    return true;
  }
  if (size < 24) return false;
  if (type == 0) {
    if (size % 16 != 8 || size_t{header[3]} > size / 16) return false;
    Put(both, 16, Part(header, size - 16, size));
    return true;
  }
  if (type != 2 && type != 4) return false;
  Put(both, 16, Part(header, 8, 24));
  return true;
}

// RFC 6275 §6.3.
void TakeHomeAddress(const Octets& header, Octets& both) {
  for (size_t i = 2; i < header.size();) {
    if (header[i] == 0) {
      ++i;
      continue;
    }
    if (i + 1 >= header.size()) return;
    const size_t size = size_t{2} + header[i + 1];
    if (i + size > header.size()) return;
    if (header[i] == 201 && size == 18)
      Put(both, 0, Part(header, i + 2, i + 18));
    i += size;
  }
}

// The addresses of the pseudo-header; nothing if a routing header is unknown.
std::optional<Octets> Addresses(const Octets& frame, const PacketInfo& info) {
  const size_t at = info.l3_offset;
  if (info.l3 == L3::kIpv4) {
    Octets both = Part(frame, at + 12, at + 20);
    for (size_t i = at + 20; i + 1 < info.l4_offset && frame[i] != 0;) {
      const size_t size = frame[i] == 1 ? 1 : frame[i + 1];
      if ((size < 2 && frame[i] != 1) || i + size > info.l4_offset) break;
      if (frame[i] == 131 || frame[i] == 137) {
        if (size >= 7 && size % 4 == 3 && frame[i + 2] <= size) {
          Put(both, 4, Part(frame, i + size - 4, i + size));
        }
        break;
      }
      i += size;
    }
    return both;
  }
  Octets both = Part(frame, at + 8, at + 40);
  uint8_t next = frame[at + 6];
  for (size_t i = at + 40; i < info.l4_offset;) {
    const size_t size = next == 44 ? 8 : size_t{8} * (size_t{frame[i + 1]} + 1);
    const Octets header = Part(frame, i, i + size);
    if (next == 43 && header[3] != 0 && !Route(header, both)) {
      return std::nullopt;
    }
    if (next == 60) TakeHomeAddress(header, both);
    next = frame[i];
    i += size;
  }
  return both;
}

struct Kind {
  std::string name;
  size_t field;
  size_t header;
};

std::optional<Kind> KindOf(const PacketInfo& info) {
  static const std::map<int, Kind> kBoth = {{6, {"TCP", 16, 20}},
                                            {17, {"UDP", 6, 8}},
                                            {132, {"SCTP", 8, 12}},
                                            {136, {"UDP-Lite", 6, 8}}};
  static const std::map<int, Kind> kIpv4 = {{1, {"ICMP", 2, 4}},
                                            {2, {"IGMP", 2, 4}}};
  if (const auto at = kBoth.find(info.protocol); at != kBoth.end()) {
    return at->second;
  }
  if (info.l3 == L3::kIpv6) {
    if (info.protocol == 58) return Kind{"ICMPv6", 2, 4};
    return std::nullopt;
  }
  if (const auto at = kIpv4.find(info.protocol); at != kIpv4.end()) {
    return at->second;
  }
  return std::nullopt;
}

// What the checksum of a transport part is computed from, its field 0; `said`
// is the length that its own header says, 0 for all of it.
Octets Covered(const PacketInfo& info, const Octets& addresses, Octets part,
               size_t said) {
  Octets all;
  if (info.protocol != 1 && info.protocol != 2) {
    all = addresses;
    const size_t length = info.protocol == 17 && said != 0 ? said : part.size();
    for (const int shift : {24, 16, 8, 0}) {
      all.push_back(static_cast<uint8_t>(length >> shift));
    }
    for (const int octet : {0, 0, 0, int{info.protocol}}) {
      all.push_back(static_cast<uint8_t>(octet));
    }
  }
  if (said != 0) part.resize(said);
  all.insert(all.end(), part.begin(), part.end());
  return all;
}

uint32_t SctpField(const Octets& part) {
  return uint32_t{part[8]} | uint32_t{part[9]} << 8 | uint32_t{part[10]} << 16 |
         uint32_t{part[11]} << 24;
}

NaiveVerdict VerifyPart(const PacketInfo& info, const Kind& kind,
                        const Octets& addresses, Octets part) {
  const auto bad = [&](const std::string& why) {
    return NaiveVerdict{.l4 = ChecksumState::kBad, .drop = why};
  };
  const NaiveVerdict wrong = {.l4 = ChecksumState::kUnverifiable,
                              .drop = "transport length"};
  if (part.size() < kind.header) return wrong;
  if (info.protocol == 132) {
    const uint32_t field = SctpField(part);
    Put(part, 8, {0, 0, 0, 0});
    return field == NaiveCrc32c(std::as_bytes(std::span(part)))
               ? NaiveVerdict{.l4 = ChecksumState::kGood, .drop = {}}
               : bad("SCTP checksum");
  }
  size_t said = 0;
  if (info.protocol == 17 || info.protocol == 136) {
    said = Word(part, 4);
    if ((said < 8 && !(said == 0 && info.protocol == 136)) ||
        said > part.size()) {
      return wrong;
    }
    if (Word(part, 6) == 0) {
      if (info.protocol == 136) return bad("UDP-Lite without checksum");
      if (info.l3 == L3::kIpv6) return bad("UDP over IPv6 without checksum");
      return {.l4 = ChecksumState::kAbsent, .drop = {}};
    }
  }
  // RFC 1071 §1: the sum over everything, the checksum too, is -0.
  if (ChecksumOf(Covered(info, addresses, part, said)) == 0) {
    return {.l4 = ChecksumState::kGood, .drop = {}};
  }
  if (info.protocol == 6 || info.protocol == 17) {
    Octets pseudo = Covered(info, addresses, part, said);
    pseudo.resize(addresses.size() + 8);
    if (0xffff - ChecksumOf(pseudo) ==
        static_cast<int>(Word(part, kind.field))) {
      return bad("checksum left to offload");
    }
  }
  return bad(kind.name + " checksum");
}

}  // namespace

uint32_t NaiveCrc32c(std::span<const std::byte> bytes) {
  uint32_t crc = 0xffffffff;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 1) != 0 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
    }
  }
  return ~crc;
}

PacketInfo NaiveParse(std::span<const std::byte> bytes) {
  const Octets frame = ToOctets(bytes);
  size_t at = 12;
  while (at + 2 <= frame.size() &&
         (Word(frame, at) == 0x8100 || Word(frame, at) == 0x88a8)) {
    at += 4;
  }
  if (at + 2 > frame.size()) return {};
  PacketInfo info;
  if (Word(frame, at) == 0x0800) info = ParseIpv4(frame, at + 2);
  if (Word(frame, at) == 0x86dd) info = ParseIpv6(frame, at + 2);
  if (!info.is_ip()) return {};
  const size_t end = PacketEnd(frame, info);
  info.trailer_bytes = static_cast<uint16_t>(
      end < frame.size() ? std::min<size_t>(frame.size() - end, 0xffff) : 0);
  return info;
}

NaiveVerdict NaiveVerify(std::span<const std::byte> bytes,
                         const PacketInfo& info) {
  const Octets frame = ToOctets(bytes);
  NaiveVerdict verdict;
  if (info.l3 == L3::kIpv4) {
    const Octets header = Part(frame, info.l3_offset, info.l4_offset);
    const bool good = ChecksumOf(header) == 0;
    verdict.ip = good ? ChecksumState::kGood : ChecksumState::kBad;
    if (!good) verdict.drop = "IPv4 header checksum";
  }
  const auto kind = KindOf(info);
  if (!info.is_ip() || info.is_fragment() || !kind.has_value()) return verdict;
  const size_t end = PacketEnd(frame, info);
  const auto addresses = Addresses(frame, info);
  NaiveVerdict l4 = {.l4 = ChecksumState::kUnverifiable, .drop = {}};
  if (end > frame.size()) {
    l4.drop = "shorter than its packet";
  } else if (addresses.has_value()) {
    l4 = VerifyPart(info, *kind, *addresses, Part(frame, info.l4_offset, end));
  }
  verdict.l4 = l4.l4;
  if (verdict.drop.empty()) verdict.drop = l4.drop;
  return verdict;
}

std::vector<std::byte> NaiveFill(std::span<const std::byte> bytes,
                                 const PacketInfo& info) {
  Octets frame = ToOctets(bytes);
  const size_t at = info.l3_offset;
  const auto put_word = [&frame](size_t where, unsigned value) {
    Put(frame, where,
        {static_cast<uint8_t>(value >> 8), static_cast<uint8_t>(value)});
  };
  if (info.l3 == L3::kIpv4) {
    put_word(at + 10, 0);
    put_word(at + 10, ChecksumOf(Part(frame, at, info.l4_offset)));
  }
  const auto kind = KindOf(info);
  const bool fits = NaiveVerify(bytes, info).l4 != ChecksumState::kUnverifiable;
  if (!info.is_fragment() && kind.has_value() && fits) {
    const auto addresses = Addresses(frame, info);
    const size_t field = info.l4_offset + kind->field;
    const size_t end = PacketEnd(frame, info);
    if (info.protocol == 132) {
      Put(frame, field, {0, 0, 0, 0});
      const Octets part = Part(frame, info.l4_offset, end);
      const uint32_t crc = NaiveCrc32c(std::as_bytes(std::span(part)));
      Put(frame, field,
          {static_cast<uint8_t>(crc), static_cast<uint8_t>(crc >> 8),
           static_cast<uint8_t>(crc >> 16), static_cast<uint8_t>(crc >> 24)});
    } else {
      put_word(field, 0);
      const bool is_udp = info.protocol == 17 || info.protocol == 136;
      const size_t said = is_udp ? Word(frame, info.l4_offset + 4) : 0;
      uint16_t checksum = ChecksumOf(
          Covered(info, *addresses, Part(frame, info.l4_offset, end), said));
      if (is_udp && checksum == 0) checksum = 0xffff;
      put_word(field, checksum);
    }
  }
  const auto filled = std::as_bytes(std::span(frame));
  return {filled.begin(), filled.end()};
}

}  // namespace weir::testing
