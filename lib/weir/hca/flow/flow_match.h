// A condition on frames: what a flow rule says about their header fields.

#ifndef WEIR_HCA_FLOW_FLOW_MATCH_H_
#define WEIR_HCA_FLOW_FLOW_MATCH_H_

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "weir/hca/flow/flow_fields.h"

namespace weir::hca {

// The fields where `mask` has ones are as in `value`, which is zero elsewhere.
struct FlowMatch {
  FlowWords value{};
  FlowWords mask{};

  // Of values and masks with anything outside of the masks.
  static FlowMatch Of(const FlowFields& values,
                      const FlowFields& masks) noexcept {
    FlowMatch match{.value = std::bit_cast<FlowWords>(values),
                    .mask = std::bit_cast<FlowWords>(masks)};
    for (size_t i = 0; i < kFlowWords; ++i) match.value[i] &= match.mask[i];
    return match;
  }

  // Frames whose destination MAC is `octets` where `mask` has ones.
  static FlowMatch Destination(const std::array<uint8_t, 6>& octets,
                               const std::array<uint8_t, 6>& mask) noexcept {
    FlowFields values{};
    FlowFields masks{};
    std::memcpy(values.ethernet.dst_mac, octets.data(), octets.size());
    std::memcpy(masks.ethernet.dst_mac, mask.data(), mask.size());
    return Of(values, masks);
  }

  // True if every frame fulfils it.
  bool takes_all() const noexcept { return mask == FlowWords{}; }

  bool Matches(const FlowFields& fields) const noexcept {
    const auto words = std::bit_cast<FlowWords>(fields);
    uint64_t difference = 0;
    for (size_t i = 0; i < kFlowWords; ++i) {
      difference |= (words[i] ^ value[i]) & mask[i];
    }
    return difference == 0;
  }

  friend bool operator==(const FlowMatch&, const FlowMatch&) = default;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_FLOW_FLOW_MATCH_H_
