// The wording of the errors that calls for raw packets give, which mean the
// same for queue pairs and for flows.

#ifndef WEIR_VERBS_RAW_PACKET_ERROR_H_
#define WEIR_VERBS_RAW_PACKET_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "weir/base/errno_status.h"

namespace weir::verbs {

// The Status for `failed` with `error_number`, with a remedy if there is one.
// `max_raw_queue_pairs` is what the device says of itself (max_raw_ethy_qp):
// the kernel asks for the right before it asks the driver, so that EPERM alone
// does not mean that the device could do it. Any thread.
absl::Status RawPacketError(int error_number, const FailedCall& failed,
                            int max_raw_queue_pairs);

// The same for calls that spread frames over work queues. Any thread.
absl::Status RssError(int error_number, const FailedCall& failed);

}  // namespace weir::verbs

#endif  // WEIR_VERBS_RAW_PACKET_ERROR_H_
