// Gives frames the source address of the port they leave by, so that the
// switches behind it learn where to answer.

#ifndef WEIR_STAGE_SET_MACS_H_
#define WEIR_STAGE_SET_MACS_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "weir/mbuf/mbuf.h"
#include "weir/net/ethernet.h"
#include "weir/net/mac_address.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/stage.h"

namespace weir {

// A packet stage. Writes the source address of the Ethernet header and leaves
// the destination alone: a bridge of two ports does not know a better one.
// Owner lcore only.
class SetMacs {
 public:
  enum class Drop : uint8_t { kNoHeader };
  static constexpr absl::string_view kName = "set-macs";
  static constexpr std::array<absl::string_view, 1> kDropNames = {
      "shorter than an Ethernet header"};

  // `source` is what frames will carry: the address of the port they leave by.
  explicit SetMacs(net::MacAddress source) noexcept : source_(source) {}

  Verdict OnPacket(Mbuf& mbuf, Lcore&) noexcept {
    auto* ethernet = mbuf.Header<net::EthernetHeader>(0);
    if (ethernet == nullptr) return Verdict::Drop(Drop::kNoHeader);
    ethernet->source = source_;
    return Verdict::Pass();
  }

 private:
  net::MacAddress source_;
};

}  // namespace weir

#endif  // WEIR_STAGE_SET_MACS_H_
