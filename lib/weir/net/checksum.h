// The Internet checksum (RFC 1071) as a type, so that an unfinished sum, a
// finished checksum and a number do not mix.

#ifndef WEIR_NET_CHECKSUM_H_
#define WEIR_NET_CHECKSUM_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/base/big_endian.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/net/word_sum.h"

namespace weir::net {

// The one's complement sum of what was added so far. The sum is kept in the
// byte order of this machine, which RFC 1071 §2 (B) allows. Any thread.
class InternetSum {
 public:
  InternetSum() = default;

  // Adds bytes as if they followed those added before, so pieces may have odd
  // lengths. At most 4 GiB at once.
  void Add(std::span<const std::byte> bytes) noexcept {
    AddSum(SumWords(bytes), bytes.size() % 2 != 0);
  }
  // Adds four bytes behind an even number of them.
  void AddWord(Be32 word) noexcept {
    sum_ = AddAround(sum_, std::bit_cast<uint32_t>(word));
  }
  // Adds the bytes that were added to `behind`, as if they followed.
  void Append(const InternetSum& behind) noexcept {
    AddSum(behind.sum_, behind.odd_);
  }

  // The checksum: the complement of the sum. A sum over data that includes a
  // right checksum gives 0.
  Be16 Checksum() const noexcept {
    // Both halves of 64 bits and then of 32, each added to the other: the
    // upper one takes the carry of the lower.
    const uint64_t halves = sum_ + std::rotl(sum_, 32);
    const auto words = static_cast<uint32_t>(halves >> 32);
    const uint32_t sum = words + std::rotl(words, 16);
    return std::bit_cast<Be16>(static_cast<uint16_t>(~(sum >> 16)));
  }

 private:
  void AddSum(uint64_t sum, bool odd) noexcept {
    // Behind an odd byte every byte counts in the other half of its word
    // (RFC 1071 §2 (B)): times 2^8, modulo 2^64 - 1.
    sum_ = AddAround(sum_, odd_ ? std::rotl(sum, 8) : sum);
    odd_ ^= odd;
  }

  // Modulo 2^64 - 1; 0 only if all that was added is 0.
  uint64_t sum_ = 0;
  // An odd number of bytes was added.
  bool odd_ = false;
};

// The sum of the pseudo-header for `protocol` with `length` bytes of header and
// payload: RFC 9293 §3.1 and RFC 768 for IPv4, RFC 8200 §8.1 for IPv6. Any
// thread.
InternetSum PseudoHeaderSum(const Ipv4Header& ip, uint8_t protocol,
                            uint16_t length) noexcept;
InternetSum PseudoHeaderSum(const Ipv6Header& ip, uint8_t protocol,
                            uint32_t length) noexcept;

// A checksum as UDP and the kernel send it: 0 would mean that there is none,
// and 0xffff is the same in one's complement. Any thread.
constexpr Be16 NeverZero(Be16 checksum) noexcept {
  return checksum == Be16(0) ? Be16(0xffff) : checksum;
}

namespace internal {

// ~(~checksum + ~before + after), with the carries added back in.
constexpr Be16 Update(Be16 checksum, uint32_t before, uint32_t after) noexcept {
  uint64_t sum = uint64_t{0xffff} - checksum.host();
  sum += uint64_t{0xffffffff} - before + after;
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  // A sum of 0 is that of zeros alone, which no header is: it is -0.
  return Be16(static_cast<uint16_t>(sum == 0 ? 0 : 0xffff - sum));
}

}  // namespace internal

// The checksum after a field at an even offset of what it covers has changed
// from `before` to `after` (RFC 1624 §3, equation 3). It is what computing it
// anew gives and never 0xffff, which only data that is all zeros has: of that
// it gives 0, the same number in one's complement. Any thread.
constexpr Be16 UpdateChecksum(Be16 checksum, Be16 before, Be16 after) noexcept {
  return internal::Update(checksum, uint32_t{0xffff0000} | before.host(),
                          after.host());
}
constexpr Be16 UpdateChecksum(Be16 checksum, Be32 before, Be32 after) noexcept {
  return internal::Update(checksum, before.host(), after.host());
}

// The same for a checksum of UDP or UDP-Lite, where 0 says that there is none
// and stays, and a sum of 0 is 0xffff (RFC 768, RFC 3828 §3.1). Any thread.
template <typename Field>
constexpr Be16 UpdateUdpChecksum(Be16 checksum, Field before,
                                 Field after) noexcept {
  if (checksum == Be16(0)) return checksum;
  return NeverZero(UpdateChecksum(checksum, before, after));
}

}  // namespace weir::net

#endif  // WEIR_NET_CHECKSUM_H_
