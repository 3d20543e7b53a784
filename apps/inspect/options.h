// The flags of inspect, checked.

#ifndef APPS_INSPECT_OPTIONS_H_
#define APPS_INSPECT_OPTIONS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "weir/net/toeplitz.h"

namespace weir::inspect {

struct Options {
  // Otherwise checksums behind the IP header are not looked at.
  bool verify_l4 = true;
  // Of both families; without it that of each.
  std::optional<absl::Duration> reassembly_timeout;
  uint32_t max_datagrams = 0;
  // Of one datagram.
  uint32_t max_fragments = 0;
  // The table of `rss_table` entries, a power of two, is dealt to the queues in
  // turn.
  uint32_t queues = 0;
  uint32_t rss_table = 0;
  net::ToeplitzKey rss_key{};
};

// InvalidArgument with the flag, its value and what is wanted. After the
// command line was parsed.
absl::StatusOr<Options> ReadOptions();

}  // namespace weir::inspect

#endif  // APPS_INSPECT_OPTIONS_H_
