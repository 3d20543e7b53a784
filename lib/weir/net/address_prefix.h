// Ranges of IP addresses by their first bits (RFC 4632 §3.1, RFC 4291 §2.3).

#ifndef WEIR_NET_ADDRESS_PREFIX_H_
#define WEIR_NET_ADDRESS_PREFIX_H_

#include <cstddef>
#include <cstdint>

#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"

namespace weir::net {

// All addresses whose first `bits` bits are those of `address`. Any thread.
template <typename Address>
struct AddressPrefix {
  static constexpr unsigned kMaxBits = 8 * sizeof(Address);

  Address address;
  uint8_t bits = kMaxBits;

  constexpr bool Contains(const Address& other) const noexcept {
    for (size_t i = 0; i < sizeof(Address) && 8 * i < bits; ++i) {
      if (((address.octets[i] ^ other.octets[i]) & MaskOf(i)) != 0) {
        return false;
      }
    }
    return true;
  }

  // The first of them: no bits behind the prefix.
  constexpr Address First() const noexcept {
    Address first = address;
    for (size_t i = 0; i < sizeof(Address); ++i) {
      first.octets[i] = static_cast<uint8_t>(first.octets[i] & MaskOf(i));
    }
    return first;
  }

  friend constexpr bool operator==(const AddressPrefix&,
                                   const AddressPrefix&) = default;

 private:
  // The bits of octet number `i` that count.
  constexpr unsigned MaskOf(size_t i) const noexcept {
    if (8 * i >= bits) return 0;
    const size_t rest = bits - 8 * i;
    return rest >= 8 ? 0xff : 0xff & (0xff00U >> rest);
  }
};

using Ipv4Prefix = AddressPrefix<Ipv4Address>;
using Ipv6Prefix = AddressPrefix<Ipv6Address>;

}  // namespace weir::net

#endif  // WEIR_NET_ADDRESS_PREFIX_H_
