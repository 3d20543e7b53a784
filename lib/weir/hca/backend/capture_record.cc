#include "weir/hca/backend/capture_record.h"

#include <array>

#include "absl/strings/str_cat.h"

namespace weir::hca {
namespace {

struct LinkType {
  uint32_t number;
  absl::string_view name;
};

// The registry at tcpdump.org/linktypes.html, as far as users meet it.
constexpr std::array<LinkType, 11> kLinkTypes = {{
    {0, "BSD loopback"},
    {1, "Ethernet"},
    {101, "raw IP"},
    {105, "IEEE 802.11"},
    {113, "Linux cooked capture"},
    {127, "IEEE 802.11 with radiotap"},
    {147, "private use"},
    {228, "raw IPv4"},
    {229, "raw IPv6"},
    {247, "InfiniBand"},
    {276, "Linux cooked capture v2"},
}};

}  // namespace

std::string LinkTypeText(uint32_t link_type) {
  for (const LinkType& known : kLinkTypes) {
    if (known.number == link_type) {
      return absl::StrCat(link_type, " (", known.name, ")");
    }
  }
  return absl::StrCat(link_type);
}

}  // namespace weir::hca
