#include "weir/net/mac_address.h"

#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

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
  // Not StrFormat, which does not survive memory that runs out.
  const auto two = [&o](size_t i) { return absl::Hex(o[i], absl::kZeroPad2); };
  return absl::StrCat(two(0), ":", two(1), ":", two(2), ":", two(3), ":",
                      two(4), ":", two(5));
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
