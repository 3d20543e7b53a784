// How many queues a port gets, and how frames come to them: decided before
// anything is created, so that it is said whether it is what was asked for.

#ifndef WEIR_PORT_QUEUE_CHOICE_H_
#define WEIR_PORT_QUEUE_CHOICE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "weir/port/port_info.h"
#include "weir/verbs/device.h"

namespace weir {

// The queues of a direction that a port may be asked for.
inline constexpr uint32_t kMaxQueues = 128;

struct QueueWishes {
  uint32_t rx = 1;
  uint32_t tx = 1;
  // Whether one RX queue in place of several is an error.
  bool needs_all_rx = false;
};

// The queues of a port on `device`, whose limits are `rss`. InvalidArgument for
// a number of queues that no port has, or that is more than the device has;
// FailedPrecondition for a device that cannot spread frames, if that is an
// error. Any thread.
absl::StatusOr<PortQueues> ChooseQueues(const PortInfo& device,
                                        const verbs::RssLimits& rss,
                                        const QueueWishes& wishes);

}  // namespace weir

#endif  // WEIR_PORT_QUEUE_CHOICE_H_
