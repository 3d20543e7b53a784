// Writes the checksums of packets that leave: that of IPv4's header and that of
// what IP carries, for devices that do not.

#ifndef WEIR_STAGE_FILL_CHECKSUMS_H_
#define WEIR_STAGE_FILL_CHECKSUMS_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "weir/mbuf/mbuf.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/stage.h"

namespace weir {

// A packet stage for packets whose PacketInfo says where their headers are. It
// writes the fields whatever was in them and marks them kGood; of fragments
// only that of the IPv4 header. A sum of 0 in UDP and UDP-Lite is written as
// 0xffff (RFC 768, RFC 3828 §3.1), elsewhere as 0. The packet must not share
// its headers with others. Owner lcore only.
class FillChecksums {
 public:
  enum class Drop : uint8_t { kWrongLength, kCutShort, kUnknownRoute };
  static constexpr absl::string_view kName = "fill-checksums";
  static constexpr std::array<absl::string_view, 3> kDropNames = {
      "transport length", "shorter than its packet", "unknown routing header"};

  Verdict OnPacket(Mbuf& packet, Lcore&) noexcept;
};

}  // namespace weir

#endif  // WEIR_STAGE_FILL_CHECKSUMS_H_
