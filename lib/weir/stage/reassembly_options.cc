#include "weir/stage/reassembly_options.h"

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

absl::Status CheckRange(absl::string_view name, uint64_t value, uint64_t least,
                        uint64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("reassembly: ", name, " is ",
                                                 value, ", has to be from ",
                                                 least, " to ", most));
}

}  // namespace

absl::Status CheckReassemblyOptions(const ReassemblyOptions& options) {
  constexpr uint64_t kHourNs = 3'600'000'000'000;
  const uint64_t per_datagram = options.max_fragments_per_datagram;
  const absl::Status checks[] = {
      CheckRange("ipv4_timeout_ns", options.ipv4_timeout_ns, 1, kHourNs),
      CheckRange("ipv6_timeout_ns", options.ipv6_timeout_ns, 1, kHourNs),
      CheckRange("max_datagrams", options.max_datagrams, 1, 1 << 20),
      CheckRange("max_fragments_per_datagram", per_datagram, 2, 8191),
      CheckRange("max_fragments", options.max_fragments, per_datagram, 1 << 24),
      CheckRange("max_bytes", options.max_bytes, 65535, uint64_t{1} << 40),
      CheckRange("max_fragments_per_source", SourceShare(options), per_datagram,
                 options.max_fragments),
  };
  for (const absl::Status& check : checks) {
    if (!check.ok()) return check;
  }
  return absl::OkStatus();
}

}  // namespace weir
