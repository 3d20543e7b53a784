#include "weir/net/checksum.h"

#include <bit>

#include "weir/net/word_sum.h"

namespace weir::net {
namespace {

// Carries added back in until 16 bits are left (RFC 1071 §4.1): of 64 bits
// there are 33 left, then 18, 17 and 16.
uint16_t Fold(uint64_t sum) noexcept {
  sum = (sum & 0xffffffff) + (sum >> 32);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

}  // namespace

void InternetSum::Add(std::span<const std::byte> bytes) noexcept {
  if (bytes.empty()) return;
  const uint16_t sum = Fold(SumWords(bytes));
  // Behind an odd byte every byte counts in the other half of its word
  // (RFC 1071 §2 (B)).
  sum_ += odd_ ? ByteSwap(sum) : sum;
  odd_ ^= bytes.size() % 2 != 0;
}

void InternetSum::Append(const InternetSum& behind) noexcept {
  const uint16_t sum = Fold(behind.sum_);
  sum_ += odd_ ? ByteSwap(sum) : sum;
  odd_ ^= behind.odd_;
}

Be16 InternetSum::Checksum() const noexcept {
  return std::bit_cast<Be16>(static_cast<uint16_t>(~Fold(sum_)));
}

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
