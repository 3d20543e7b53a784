#include "weir/net/address_sum.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "weir/net/ip_protocol.h"
#include "weir/net/ipv6_extension.h"
#include "weir/net/load_store.h"

namespace weir::net {
namespace {

// RFC 791 §3.1: loose and strict source routes. Behind type, length and
// pointer there are addresses.
constexpr uint8_t kLooseRoute = 131;
constexpr uint8_t kStrictRoute = 137;
constexpr size_t kRouteStart = 3;

// RFC 6554 §3; the others are in ipv6_extension.h.
constexpr uint8_t kRoutingRpl = 3;
// Of each of those: addresses come behind 8 bytes.
constexpr size_t kSegmentsStart = 8;
// RFC 6275 §6.3.
constexpr uint8_t kHomeAddressOption = 201;

uint8_t ByteAt(std::span<const std::byte> bytes, size_t at) noexcept {
  return std::to_integer<uint8_t>(bytes[at]);
}

template <typename Address>
InternetSum SumOf(const Address& source, const Address& destination) noexcept {
  InternetSum sum;
  sum.Add(std::as_bytes(std::span(source.octets)));
  sum.Add(std::as_bytes(std::span(destination.octets)));
  return sum;
}

// The last address of the source route `option`, if its pointer, which counts
// from 1, is not behind it.
std::optional<Ipv4Address> EndOfRoute(
    std::span<const std::byte> option) noexcept {
  if (option.size() < kRouteStart + sizeof(Ipv4Address) ||
      (option.size() - kRouteStart) % sizeof(Ipv4Address) != 0 ||
      ByteAt(option, 2) > option.size()) {
    return std::nullopt;
  }
  return LoadHeader<Ipv4Address>(option, option.size() - sizeof(Ipv4Address));
}

// Where a packet goes on to, whose source route is among `options`.
std::optional<Ipv4Address> FindEndOfRoute(
    std::span<const std::byte> options) noexcept {
  while (options.size() >= 2 && ByteAt(options, 0) != kIpv4OptionEnd) {
    const uint8_t type = ByteAt(options, 0);
    const size_t size = type == kIpv4OptionNop ? 1 : ByteAt(options, 1);
    if (size > options.size() || (type != kIpv4OptionNop && size < 2)) break;
    if (type == kLooseRoute || type == kStrictRoute) {
      return EndOfRoute(options.first(size));
    }
    options = options.subspan(size);
  }
  return std::nullopt;
}

// The source and the destination at last; false if that cannot be told.
struct Ends {
  Ipv6Address source;
  Ipv6Address destination;

  bool Read(uint8_t type, std::span<const std::byte> header) noexcept;
  bool ReadRouting(std::span<const std::byte> header) noexcept;
  bool ReadRpl(std::span<const std::byte> header) noexcept;
  void ReadOptions(std::span<const std::byte> options) noexcept;
};

bool Ends::ReadRpl(std::span<const std::byte> header) noexcept {
  // Octets that all addresses, and that the last one, have in common with the
  // destination; bytes of padding.
  const size_t common = ByteAt(header, 4) >> 4;
  const size_t common_of_last = ByteAt(header, 4) & 0xf;
  const size_t padding = ByteAt(header, 5) >> 4;
  const size_t last = sizeof(Ipv6Address) - common_of_last;
  if (header.size() < kSegmentsStart + last + padding) return false;
  const size_t at = header.size() - padding - last;
  if ((at - kSegmentsStart) % (sizeof(Ipv6Address) - common) != 0) return false;
  std::memcpy(destination.octets.data() + common_of_last, header.data() + at,
              last);
  return true;
}

bool Ends::ReadRouting(std::span<const std::byte> header) noexcept {
  const auto routing = LoadHeader<Ipv6RoutingHeader>(header, 0);
  if (routing.segments_left == 0) return true;
  if (routing.type == kRoutingRpl) return ReadRpl(header);
  if (header.size() < kSegmentsStart + sizeof(Ipv6Address)) return false;
  size_t at = kSegmentsStart;
  if (routing.type == kRoutingSource) {
    const size_t size = header.size() - kSegmentsStart;
    if (size % sizeof(Ipv6Address) != 0 ||
        routing.segments_left > size / sizeof(Ipv6Address)) {
      return false;
    }
    at = header.size() - sizeof(Ipv6Address);
  } else if (routing.type != kRoutingMobile &&
             routing.type != kRoutingSegments) {
    return false;
  }
  // The list of RFC 8754 has its last segment in front.
  destination = LoadHeader<Ipv6Address>(header, at);
  return true;
}

void Ends::ReadOptions(std::span<const std::byte> options) noexcept {
  while (!options.empty()) {
    const uint8_t type = ByteAt(options, 0);
    if (type == kIpv6OptionPad1) {
      options = options.subspan(1);
      continue;
    }
    if (options.size() < 2) return;
    const size_t size = size_t{2} + ByteAt(options, 1);
    if (size > options.size()) return;
    if (type == kHomeAddressOption && size == 2 + sizeof(Ipv6Address)) {
      source = LoadHeader<Ipv6Address>(options, 2);
    }
    options = options.subspan(size);
  }
}

bool Ends::Read(uint8_t type, std::span<const std::byte> header) noexcept {
  if (type == kProtocolRouting) return ReadRouting(header);
  if (type == kProtocolDestinationOptions) ReadOptions(header.subspan(2));
  return true;
}

// Of the extension header of `type` that `headers` begins with.
size_t SizeOf(uint8_t type, std::span<const std::byte> headers) noexcept {
  if (type == kProtocolFragment) return sizeof(Ipv6FragmentHeader);
  if (type == kProtocolAh) {
    return LoadHeader<IpAuthenticationHeader>(headers, 0).header_bytes();
  }
  return LoadHeader<Ipv6OptionsHeader>(headers, 0).header_bytes();
}

}  // namespace

namespace internal {

InternetSum AddressSumBehindOptions(
    std::span<const std::byte> header) noexcept {
  const auto ip = LoadHeader<Ipv4Header>(header, 0);
  const auto end = FindEndOfRoute(header.subspan(sizeof ip));
  return SumOf(ip.source, end.value_or(ip.destination));
}

std::optional<InternetSum> AddressSumBehindExtensions(
    std::span<const std::byte> headers) noexcept {
  const auto ip = LoadHeader<Ipv6Header>(headers, 0);
  Ends ends = {ip.source, ip.destination};
  uint8_t type = ip.next_header;
  headers = headers.subspan(sizeof ip);
  while (!headers.empty()) {
    // No extension header is shorter.
    if (headers.size() < 8) return std::nullopt;
    const size_t size = SizeOf(type, headers);
    if (size > headers.size() || !ends.Read(type, headers.first(size))) {
      return std::nullopt;
    }
    type = ByteAt(headers, 0);
    headers = headers.subspan(size);
  }
  return SumOf(ends.source, ends.destination);
}

}  // namespace internal
}  // namespace weir::net
