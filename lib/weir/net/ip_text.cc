#include "weir/net/ip_text.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <array>

namespace weir::net {
namespace {

template <typename Address>
std::string TextOf(int family, const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(family, address.octets.data(), text.data(), text.size());
  return text.data();
}

template <typename Address>
std::optional<Address> Parse(int family, absl::string_view text) {
  Address address;
  // A string ends at a NUL: "192.0.2.1" followed by one is not an address.
  const std::string terminated(text);
  if (terminated.find('\0') != std::string::npos) return std::nullopt;
  if (inet_pton(family, terminated.c_str(), address.octets.data()) != 1) {
    return std::nullopt;
  }
  return address;
}

}  // namespace

std::string ToString(const Ipv4Address& address) {
  return TextOf(AF_INET, address);
}

std::string ToString(const Ipv6Address& address) {
  return TextOf(AF_INET6, address);
}

std::optional<Ipv4Address> ParseIpv4Address(absl::string_view text) {
  return Parse<Ipv4Address>(AF_INET, text);
}

std::optional<Ipv6Address> ParseIpv6Address(absl::string_view text) {
  return Parse<Ipv6Address>(AF_INET6, text);
}

std::string ToString(const IpAddress& address) {
  return std::visit([](const auto& one) { return ToString(one); }, address);
}

std::optional<IpAddress> ParseIpAddress(absl::string_view text) {
  if (const auto v4 = ParseIpv4Address(text)) return *v4;
  if (const auto v6 = ParseIpv6Address(text)) return *v6;
  return std::nullopt;
}

}  // namespace weir::net
