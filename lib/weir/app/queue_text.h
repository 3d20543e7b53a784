// How the queues of a port are named where an app tells of them.

#ifndef WEIR_APP_QUEUE_TEXT_H_
#define WEIR_APP_QUEUE_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "weir/port/port_info.h"

namespace weir {

// "single_queue", "rss", "software_dispatch". Any thread.
absl::string_view NameOf(RxMethod method);

// "none", "addresses", "addresses_and_ports". Any thread.
absl::string_view NameOf(RxHash hash);

// "up", "down", "gone". Any thread.
absl::string_view NameOf(PortState state);

// Behind what else is said of a port: ", 4 RX queues by RSS over addresses, 4
// TX queues"; nothing for a port of one queue a direction. Any thread.
std::string DescribeQueues(const PortQueues& queues);

}  // namespace weir

#endif  // WEIR_APP_QUEUE_TEXT_H_
