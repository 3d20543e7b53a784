#include "weir/net/mac_address.h"

#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"

namespace weir::net {
namespace {

constexpr size_t kTextLength = 17;

// The value of a hexadecimal digit; only for characters absl calls xdigits.
uint8_t DigitValue(char digit) {
  const char lower = absl::ascii_tolower(static_cast<unsigned char>(digit));
  return static_cast<uint8_t>(lower <= '9' ? lower - '0' : lower - 'a' + 10);
}

}  // namespace

std::string ToString(const MacAddress& mac) {
  const auto& o = mac.octets;
  return absl::StrFormat("%02x:%02x:%02x:%02x:%02x:%02x", o[0], o[1], o[2],
                         o[3], o[4], o[5]);
}

std::optional<MacAddress> ParseMacAddress(absl::string_view text) {
  if (text.size() != kTextLength) return std::nullopt;
  MacAddress mac{};
  for (size_t i = 0; i < mac.octets.size(); ++i) {
    const absl::string_view pair = text.substr(3 * i, 2);
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(pair[0])) ||
        !absl::ascii_isxdigit(static_cast<unsigned char>(pair[1])) ||
        (i > 0 && text[3 * i - 1] != ':')) {
      return std::nullopt;
    }
    mac.octets[i] =
        static_cast<uint8_t>(DigitValue(pair[0]) << 4 | DigitValue(pair[1]));
  }
  return mac;
}

}  // namespace weir::net
