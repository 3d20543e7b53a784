#include "weir/net/checksum.h"

#include <bit>
#include <cstring>

namespace weir::net {
namespace {

template <typename Word>
Word LoadWord(const std::byte* at) noexcept {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// The sum of the words of 32 bits in `bytes`, the last one filled with zeros.
uint64_t SumWords(std::span<const std::byte> bytes) noexcept {
  uint64_t sum = 0;
  size_t i = 0;
  for (; i + sizeof(uint32_t) <= bytes.size(); i += sizeof(uint32_t)) {
    sum += LoadWord<uint32_t>(bytes.data() + i);
  }
  uint32_t last = 0;
  std::memcpy(&last, bytes.data() + i, bytes.size() - i);
  return sum + last;
}

// Carries added back in until 16 bits are left (RFC 1071 §4.1).
uint16_t Fold(uint64_t sum) noexcept {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
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
  struct {
    Ipv4Address source;
    Ipv4Address destination;
    uint8_t zero;
    uint8_t protocol;
    Be16 length;
  } const header = {ip.source, ip.destination, 0, protocol, Be16(length)};
  static_assert(sizeof header == 12);
  InternetSum sum;
  sum.Add(std::as_bytes(std::span(&header, 1)));
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
