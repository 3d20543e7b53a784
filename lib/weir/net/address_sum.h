// The addresses of a pseudo-header: those between which a packet travels at
// last, which its IP header does not say while it is routed by its source.

#ifndef WEIR_NET_ADDRESS_SUM_H_
#define WEIR_NET_ADDRESS_SUM_H_

#include <cstddef>
#include <optional>
#include <span>

#include "weir/net/checksum.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"

namespace weir::net {
namespace internal {

// Of headers that have options.
InternetSum AddressSumBehindOptions(std::span<const std::byte> header) noexcept;
std::optional<InternetSum> AddressSumBehindExtensions(
    std::span<const std::byte> headers) noexcept;

}  // namespace internal

// The sum of source and destination address of a packet of IPv4 whose IP
// header, options included, is `header`. With a source route that is not used
// up the destination is the last address of that (RFC 791 §3.1). Any thread.
inline InternetSum Ipv4AddressSum(std::span<const std::byte> header) noexcept {
  if (header.size() > sizeof(Ipv4Header)) [[unlikely]] {
    return internal::AddressSumBehindOptions(header);
  }
  InternetSum sum;
  sum.Add(
      header.subspan<offsetof(Ipv4Header, source), 2 * sizeof(Ipv4Address)>());
  return sum;
}

// The same for IPv6; `headers` are its header and the extension headers in
// front of the transport header. With segments left in a routing header the
// destination is that of the last one (RFC 8200 §8.1, RFC 6275 §6.4, RFC 6554
// §3, RFC 8754 §2); a Home Address option has the source (RFC 6275 §11.3.1).
// Nothing if segments are left in a routing header of another type, or one that
// contradicts itself. Any thread.
inline std::optional<InternetSum> Ipv6AddressSum(
    std::span<const std::byte> headers) noexcept {
  if (headers.size() > sizeof(Ipv6Header)) [[unlikely]] {
    return internal::AddressSumBehindExtensions(headers);
  }
  InternetSum sum;
  sum.Add(
      headers.subspan<offsetof(Ipv6Header, source), 2 * sizeof(Ipv6Address)>());
  return sum;
}

}  // namespace weir::net

#endif  // WEIR_NET_ADDRESS_SUM_H_
