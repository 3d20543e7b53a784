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

namespace weir::net {

// The one's complement sum of what was added so far. The sum is kept in the
// byte order of this machine, which RFC 1071 §2 (B) allows. Any thread.
class InternetSum {
 public:
  InternetSum() = default;

  // Adds bytes as if they followed those added before, so pieces may have odd
  // lengths. At most 4 GiB in all.
  void Add(std::span<const std::byte> bytes) noexcept;
  // Adds four bytes behind an even number of them.
  void AddWord(Be32 word) noexcept { sum_ += std::bit_cast<uint32_t>(word); }
  // Adds the bytes that were added to `behind`, as if they followed.
  void Append(const InternetSum& behind) noexcept;

  // The checksum: the complement of the sum. A sum over data that includes a
  // right checksum gives 0.
  Be16 Checksum() const noexcept;

 private:
  // Not folded; the sum of 2^32 words of 32 bits has 64.
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

}  // namespace weir::net

#endif  // WEIR_NET_CHECKSUM_H_
