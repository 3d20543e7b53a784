#include "weir/stage/stream/stream_table.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <variant>

#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"

namespace weir {
namespace {

using Words = std::array<uint64_t, 2>;

// RFC 4291 §2.5.5.2: 80 bits of zero, 16 of one, the address.
Words WordsOf(const net::IpAddress& address) noexcept {
  net::Ipv6Address mapped{};
  if (const auto* v6 = std::get_if<net::Ipv6Address>(&address)) {
    mapped = *v6;
  } else {
    const auto& v4 = std::get<net::Ipv4Address>(address);
    mapped.octets[10] = mapped.octets[11] = 0xff;
    std::copy(v4.octets.begin(), v4.octets.end(), mapped.octets.begin() + 12);
  }
  return std::bit_cast<Words>(mapped);
}

net::IpAddress AddressOf(const Words& words) noexcept {
  const auto mapped = std::bit_cast<net::Ipv6Address>(words);
  net::Ipv4Address v4{};
  std::copy(mapped.octets.begin() + 12, mapped.octets.end(), v4.octets.begin());
  if (WordsOf(v4) == words) return v4;
  return mapped;
}

}  // namespace

StreamKey MakeStreamKey(const net::IpAddress& source,
                        const net::IpAddress& destination, uint16_t source_port,
                        uint16_t destination_port, uint32_t id) noexcept {
  const Words from = WordsOf(source);
  const Words to = WordsOf(destination);
  return {.words = {from[0], from[1], to[0], to[1],
                    uint64_t{source_port} << 48 |
                        uint64_t{destination_port} << 32 | id}};
}

StreamName NameOfStream(const StreamKey& key) noexcept {
  const auto& words = key.words;
  return {.source = AddressOf({words[0], words[1]}),
          .destination = AddressOf({words[2], words[3]}),
          .source_port = static_cast<uint16_t>(words[4] >> 48),
          .destination_port = static_cast<uint16_t>(words[4] >> 32),
          .id = static_cast<uint32_t>(words[4])};
}

}  // namespace weir
