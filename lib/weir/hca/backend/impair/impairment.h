// How a bad link treats frames, as options of a device key say it. All kinds of
// soft devices know them.

#ifndef WEIR_HCA_BACKEND_IMPAIR_IMPAIRMENT_H_
#define WEIR_HCA_BACKEND_IMPAIR_IMPAIRMENT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/hca/device_key.h"

namespace weir::hca {

struct Impairment {
  enum class Side : uint8_t { kBoth, kReceive, kSend };

  // Probabilities, from 0 to 1, of each frame.
  double loss = 0;
  double dup = 0;
  double reorder = 0;
  double corrupt = 0;
  uint64_t delay_ns = 0;
  // A delay is up to so much longer or shorter; at most delay_ns.
  uint64_t jitter_ns = 0;
  // Of frames without FCS; 0 stands for no limit.
  uint64_t rate_bits_per_s = 0;
  uint64_t seed = 1;
  Side side = Side::kBoth;

  // Whether anything happens to frames at all.
  bool has_effect() const noexcept {
    return loss > 0 || dup > 0 || reorder > 0 || corrupt > 0 || delay_ns > 0 ||
           rate_bits_per_s > 0;
  }
};

// The names of the options, sorted. Any thread.
std::vector<absl::string_view> ImpairmentOptions();

// A time with its unit, as in 5ms, up to 10 s; nothing if it is none. Any
// thread.
std::optional<uint64_t> ParseTimeNs(absl::string_view text);

// Reads the options of `key`, others aside: `loss`, `dup`, `reorder`, `corrupt`
// (0.01 or 1%), `delay`, `jitter` (5ms), `rate` (10Mbit), `seed`, `impair`.
// InvalidArgument, naming the option, its value and the range, for a bad value.
// Any thread.
absl::StatusOr<Impairment> ParseImpairment(const DeviceKey& key);

// Reads options without a key around them: "loss=1%,delay=5ms", or nothing.
// InvalidArgument also for one that is not listed above. Any thread.
absl::StatusOr<Impairment> ParseImpairmentOptions(absl::string_view options);

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_IMPAIR_IMPAIRMENT_H_
