#include "weir/net/checksum.h"

namespace weir::net {

InternetSum PseudoHeaderSum(const Ipv4Header& ip, uint8_t protocol,
                            uint16_t length) noexcept {
  InternetSum sum;
  sum.AddWord(std::bit_cast<Be32>(ip.source));
  sum.AddWord(std::bit_cast<Be32>(ip.destination));
  // Behind a zero, the protocol is a word; then the length.
  sum.AddWord(Be32(uint32_t{protocol} << 16 | length));
  return sum;
}

InternetSum PseudoHeaderSum(const Ipv6Header& ip, uint8_t protocol,
                            uint32_t length) noexcept {
  struct {
    Ipv6Address source;
    Ipv6Address destination;
    Be32 length;
    Be32 protocol;
  } const header = {ip.source, ip.destination, Be32(length), Be32(protocol)};
  static_assert(sizeof header == 40);
  InternetSum sum;
  sum.Add(std::as_bytes(std::span(&header, 1)));
  return sum;
}

}  // namespace weir::net
