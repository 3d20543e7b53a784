#include "test/support/naive_fragments.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace weir::testing {
namespace {

unsigned At(const Bytes& bytes, size_t offset) {
  return static_cast<unsigned>(bytes.at(offset));
}
unsigned At16(const Bytes& bytes, size_t offset) {
  return At(bytes, offset) << 8 | At(bytes, offset + 1);
}
void Put16(Bytes& bytes, size_t offset, size_t value) {
  bytes.at(offset) = std::byte(static_cast<uint8_t>(value >> 8));
  bytes.at(offset + 1) = std::byte(static_cast<uint8_t>(value));
}
Bytes Part(const Bytes& bytes, size_t begin, size_t end) {
  return {bytes.begin() + static_cast<ptrdiff_t>(begin),
          bytes.begin() + static_cast<ptrdiff_t>(end)};
}
void Add(Bytes& bytes, const Bytes& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

// Takes layer 2 off `frame` and returns the EtherType.
unsigned TakeLayer2(const Bytes& frame, NaivePacket& packet) {
  size_t at = 12;
  while (At16(frame, at) == 0x8100 || At16(frame, at) == 0x88a8) at += 4;
  unsigned type = At16(frame, at);
  size_t end = at + 2;
  if (type < 0x600) {
    packet.has_length = true;
    end += 8;  // LLC and SNAP.
    type = At16(frame, end - 2);
  }
  packet.layer2 = Part(frame, 0, end);
  if (packet.has_length) {
    packet.length = At16(frame, at);
    Put16(packet.layer2, at, 0);
  }
  return type;
}

void TakeIpv4(const Bytes& ip, NaivePacket& packet) {
  const size_t header = At(ip, 0) % 16 * 4;
  const size_t total = At16(ip, 2);
  if (At(ip, 0) / 16 != 4) packet.fault += "version ";
  if (total > ip.size() || total < header) {
    packet.fault += "length ";
    return;
  }
  packet.headers = Part(ip, 0, header);
  if (ReferenceChecksum(packet.headers) != 0) packet.fault += "checksum ";
  packet.id = At16(ip, 4);
  packet.dont_fragment = (At16(ip, 6) & 0x4000) != 0;
  packet.more = (At16(ip, 6) & 0x2000) != 0;
  packet.offset = (At16(ip, 6) & 0x1fff) * size_t{8};
  packet.data = Part(ip, header, total);
  packet.padding = ip.size() - total;
}

size_t ExtensionEnd(const Bytes& ip, size_t at, unsigned type) {
  if (type == 51) return at + (At(ip, at + 1) + 2) * size_t{4};
  return at + (At(ip, at + 1) + 1) * size_t{8};
}

void TakeIpv6(const Bytes& ip, NaivePacket& packet) {
  const size_t total = 40 + At16(ip, 4);
  if (At(ip, 0) / 16 != 6) packet.fault += "version ";
  if (total > ip.size()) {
    packet.fault += "length ";
    return;
  }
  packet.is_ipv6 = true;
  packet.padding = ip.size() - total;
  // The end of the last header that nodes on the way look at.
  size_t cut = 40;
  size_t at = 40;
  unsigned type = At(ip, 6);
  while (type == 0 || type == 43 || type == 60 || type == 51) {
    const size_t end = ExtensionEnd(ip, at, type);
    if (type == 0 || type == 43) cut = end;
    type = At(ip, at);
    at = end;
  }
  if (type == 44) {
    packet.has_fragment_header = true;
    packet.next_header = static_cast<uint8_t>(At(ip, at));
    packet.offset = At16(ip, at + 2) & 0xfff8;
    packet.more = (At16(ip, at + 2) & 1) != 0;
    packet.id = At16(ip, at + 4) << 16 | At16(ip, at + 6);
    packet.headers = Part(ip, 0, at);
    packet.data = Part(ip, at + 8, total);
    return;
  }
  packet.headers = Part(ip, 0, cut);
  packet.data = Part(ip, cut, total);
}

// Where in the headers of IPv6 the type of the next one after them stands.
size_t LastNextHeader(const Bytes& headers) {
  size_t at = 6;
  for (size_t end = 40; end < headers.size();) {
    const unsigned type = At(headers, at);
    at = end;
    end = ExtensionEnd(headers, end, type);
  }
  return at;
}

// Headers without what differs from fragment to fragment.
Bytes Common(const NaivePacket& packet, size_t bytes) {
  Bytes common = Part(packet.headers, 0, bytes);
  if (packet.is_ipv6) {
    Put16(common, 4, 0);
    return common;
  }
  common[0] = std::byte{0};
  for (const size_t offset : {2, 6, 10}) Put16(common, offset, 0);
  return common;
}

// Options of IPv4 that every fragment carries (RFC 791 §3.1).
Bytes CopiedOptions(const Bytes& header) {
  Bytes copied;
  for (size_t at = 20; at < header.size() && At(header, at) != 0;) {
    if (At(header, at) == 1) {
      ++at;
      continue;
    }
    const size_t end = at + At(header, at + 1);
    if (At(header, at) >= 128) Add(copied, Part(header, at, end));
    at = end;
  }
  copied.resize((copied.size() + 3) / 4 * 4);
  return copied;
}

}  // namespace

size_t NaivePacket::packet_bytes() const {
  return headers.size() + (is_ipv6 && has_fragment_header ? 8 : 0) +
         data.size();
}

NaivePacket TakeApart(const Bytes& frame) {
  NaivePacket packet;
  const unsigned type = TakeLayer2(frame, packet);
  const Bytes ip = Part(frame, packet.layer2.size(), frame.size());
  if (type == 0x800) {
    TakeIpv4(ip, packet);
  } else if (type == 0x86dd) {
    TakeIpv6(ip, packet);
  } else {
    packet.fault += "type ";
  }
  return packet;
}

PacketInfo DescribeNaively(const Bytes& frame) {
  const NaivePacket packet = TakeApart(frame);
  const bool is_fragment = packet.more || packet.offset != 0;
  PacketInfo info;
  info.l3 = packet.is_ipv6 ? L3::kIpv6 : L3::kIpv4;
  info.l3_offset = static_cast<uint16_t>(packet.layer2.size());
  info.trailer_bytes = static_cast<uint16_t>(packet.padding);
  info.protocol = static_cast<uint8_t>(
      !packet.is_ipv6 ? At(packet.headers, 9)
      : packet.has_fragment_header
          ? packet.next_header
          : At(packet.headers, LastNextHeader(packet.headers)));
  size_t at = frame.size() - packet.padding - packet.data.size();
  if (packet.is_ipv6 && !is_fragment) {
    while (info.protocol == 60 || info.protocol == 51) {
      const size_t end = ExtensionEnd(frame, at, info.protocol);
      info.protocol = static_cast<uint8_t>(At(frame, at));
      at = end;
    }
  }
  info.l4_offset = static_cast<uint16_t>(at);
  if (is_fragment) {
    info.flags = static_cast<uint8_t>(
        PacketInfo::kFragment |
        (packet.offset == 0 ? PacketInfo::kFirstFragment : 0) |
        (packet.more ? 0 : PacketInfo::kLastFragment));
  }
  if (!packet.is_ipv6) info.set_ip_checksum(ChecksumState::kGood);
  return info;
}

Bytes JoinFragments(const std::vector<Bytes>& frames,
                    bool keep_fragment_header) {
  if (frames.empty()) return {};
  NaivePacket joined = TakeApart(frames[0]);
  for (size_t i = 1; i < frames.size(); ++i) {
    const NaivePacket next = TakeApart(frames[i]);
    EXPECT_TRUE(joined.more) << "fragment " << i << " is behind the last one";
    EXPECT_EQ(next.offset, joined.offset + joined.data.size());
    EXPECT_EQ(next.id, joined.id);
    EXPECT_EQ(next.next_header, joined.next_header);
    EXPECT_EQ(next.layer2, joined.layer2);
    Add(joined.data, next.data);
    joined.more = next.more;
  }
  Bytes ip = joined.headers;
  if (!joined.is_ipv6) {
    Put16(ip, 2, ip.size() + joined.data.size());
    Put16(ip, 6,
          joined.offset / 8 | (joined.more ? 0x2000u : 0) |
              (joined.dont_fragment ? 0x4000u : 0));
    Put16(ip, 10, 0);
    Put16(ip, 10, ReferenceChecksum(ip));
  } else if (keep_fragment_header) {
    Bytes header(8);
    header[0] = std::byte{joined.next_header};
    Put16(header, 2, joined.offset | (joined.more ? 1 : 0));
    Put16(header, 4, joined.id >> 16);
    Put16(header, 6, joined.id & 0xffff);
    Add(ip, header);
    Put16(ip, 4, ip.size() - 40 + joined.data.size());
  } else {
    ip[LastNextHeader(ip)] = std::byte{joined.next_header};
    Put16(ip, 4, ip.size() - 40 + joined.data.size());
  }
  Add(ip, joined.data);
  Bytes frame = joined.layer2;
  // The length of IEEE 802.3 is in front of LLC and SNAP.
  if (joined.has_length) Put16(frame, frame.size() - 10, 8 + ip.size());
  Add(frame, ip);
  return frame;
}

void ExpectFragmentsOf(const Bytes& frame, const std::vector<Bytes>& fragments,
                       size_t mtu) {
  const NaivePacket whole = TakeApart(frame);
  ASSERT_GE(fragments.size(), 2u);
  Bytes later =
      Part(whole.headers, 0, whole.is_ipv6 ? whole.headers.size() : 20);
  if (!whole.is_ipv6) Add(later, CopiedOptions(whole.headers));
  for (size_t i = 0; i < fragments.size(); ++i) {
    const NaivePacket part = TakeApart(fragments[i]);
    ASSERT_EQ(part.fault, "") << "fragment " << i;
    ASSERT_EQ(part.padding, 0u);
    ASSERT_EQ(part.is_ipv6, whole.is_ipv6);
    ASSERT_LE(part.packet_bytes(), mtu);
    ASSERT_GT(part.data.size(), 0u);
    // LLC, SNAP and the packet.
    if (part.has_length) {
      ASSERT_EQ(part.length, 8 + part.packet_bytes());
    }
    if (i + 1 < fragments.size()) {
      // As much as fits in units of 8 bytes.
      ASSERT_EQ(part.data.size() % 8, 0u);
      ASSERT_GT(part.packet_bytes() + 8, mtu);
    }
    const Bytes& headers = i == 0 ? whole.headers : later;
    ASSERT_EQ(part.headers.size(), headers.size()) << "fragment " << i;
    Bytes expected = headers;
    if (whole.is_ipv6) {
      ASSERT_TRUE(part.has_fragment_header);
      expected[LastNextHeader(expected)] = std::byte{44};
    }
    NaivePacket model = whole;
    model.headers = expected;
    ASSERT_EQ(Common(part, part.headers.size()),
              Common(model, expected.size()));
    if (!whole.is_ipv6 || whole.has_fragment_header) {
      ASSERT_EQ(part.id, whole.id);
    }
  }
  const Bytes unpadded = Part(frame, 0, frame.size() - whole.padding);
  ASSERT_EQ(JoinFragments(fragments, whole.has_fragment_header), unpadded);
}

}  // namespace weir::testing
