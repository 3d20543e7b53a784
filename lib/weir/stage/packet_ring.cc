#include "weir/stage/packet_ring.h"

#include <bit>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

constexpr uint32_t kMaxCapacity = uint32_t{1} << 30;

absl::Status CheckCapacity(const RingOptions& options) {
  if (std::has_single_bit(options.capacity) && options.capacity >= 2 &&
      options.capacity <= kMaxCapacity) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("ring ", options.name,
                   ": want a capacity that is a power of two from 2 to ",
                   kMaxCapacity, ", got ", options.capacity));
}

}  // namespace

absl::StatusOr<RingEnds> MakeRing(const RingOptions& options) {
  const absl::Status checked = CheckCapacity(options);
  if (!checked.ok()) return checked;
  if (options.when_full == WhenFull::kDropOldest) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ring ", options.name,
        ": the oldest are the consumer's; use a SharedRing to drop them"));
  }
  auto ends = MakeSpscRing<uint32_t>(options.capacity);
  auto state = std::make_shared<internal::RingState>(options);
  return RingEnds{ToRing(std::move(ends.producer), state),
                  FromRing(std::move(ends.consumer), state)};
}

absl::StatusOr<SharedRing> SharedRing::Create(const RingOptions& options) {
  const absl::Status checked = CheckCapacity(options);
  if (!checked.ok()) return checked;
  return SharedRing(options);
}

}  // namespace weir
