#include "test/support/datagram.h"

#include <algorithm>
#include <random>
#include <span>

namespace weir {
namespace {

std::string SourceOf(const Datagram& datagram) {
  if (!datagram.source.empty()) return datagram.source;
  return datagram.is_ipv6 ? "2001:db8::1" : "192.0.2.1";
}

std::string DestinationOf(const Datagram& datagram) {
  if (!datagram.destination.empty()) return datagram.destination;
  return datagram.is_ipv6 ? "2001:db8::2" : "198.51.100.2";
}

Frame FrameOf(const Datagram& datagram, const Ipv4Fields& ipv4,
              const Ipv6Fields& ipv6) {
  Frame frame;
  frame.Eth(kTestMacB, kTestMacA);
  for (const uint16_t vlan : datagram.vlans) frame.Vlan(vlan);
  if (datagram.is_ipv6) {
    frame.Ipv6(SourceOf(datagram), DestinationOf(datagram), ipv6);
  } else {
    frame.Ipv4(SourceOf(datagram), DestinationOf(datagram), ipv4);
  }
  return frame;
}

}  // namespace

Datagram UdpDatagram(bool is_ipv6, uint32_t id, size_t payload_bytes) {
  Datagram datagram{.is_ipv6 = is_ipv6, .id = id};
  Frame frame = FrameOf(datagram, {}, {});
  const Bytes bytes = frame.Udp(4000, 5000).Payload(payload_bytes, id).Build();
  const size_t headers = 14 + (is_ipv6 ? 40 : 20);
  datagram.data.assign(bytes.begin() + static_cast<std::ptrdiff_t>(headers),
                       bytes.end());
  return datagram;
}

Bytes WholeFrame(const Datagram& datagram) {
  return FrameOf(
             datagram,
             {.tos = datagram.ecn,
              .id = static_cast<uint16_t>(datagram.id),
              .protocol = datagram.protocol},
             {.traffic_class = datagram.ecn, .next_header = datagram.protocol})
      .Raw(datagram.data)
      .Build();
}

Bytes FragmentFrame(const Datagram& datagram, size_t begin, size_t bytes,
                    bool more) {
  const auto data = std::span(datagram.data).subspan(begin, bytes);
  const auto offset = static_cast<uint16_t>(begin);
  Frame frame = FrameOf(datagram,
                        {.tos = datagram.ecn,
                         .id = static_cast<uint16_t>(datagram.id),
                         .more_fragments = more,
                         .fragment_offset_bytes = offset,
                         .protocol = datagram.protocol},
                        {.traffic_class = datagram.ecn});
  if (datagram.is_ipv6) {
    frame.Ipv6Fragment({.id = datagram.id,
                        .offset_bytes = offset,
                        .more_fragments = more,
                        .next_header = datagram.protocol});
  }
  return frame.Raw(data).Build();
}

std::vector<Bytes> CutEvenly(const Datagram& datagram, size_t bytes) {
  std::vector<Bytes> frames;
  const size_t total = datagram.data.size();
  for (size_t begin = 0; begin < total; begin += bytes) {
    const size_t length = std::min(bytes, total - begin);
    frames.push_back(
        FragmentFrame(datagram, begin, length, begin + length < total));
  }
  return frames;
}

std::vector<Bytes> CutAtRandom(const Datagram& datagram, size_t most,
                               uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Bytes> frames;
  const size_t total = datagram.data.size();
  for (size_t begin = 0; begin < total;) {
    const size_t length = std::min(8 * (1 + random() % most), total - begin);
    frames.push_back(
        FragmentFrame(datagram, begin, length, begin + length < total));
    begin += length;
  }
  return frames;
}

}  // namespace weir
