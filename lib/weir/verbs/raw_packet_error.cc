#include "weir/verbs/raw_packet_error.h"

#include <cerrno>

#include "absl/status/status.h"

namespace weir::verbs {
namespace {

// Linux numbers ENOTSUP as EOPNOTSUPP.
bool IsUnsupported(int error_number) {
  return error_number == EOPNOTSUPP || error_number == ENOSYS;
}

}  // namespace

absl::Status RawPacketError(int error_number, const FailedCall& failed,
                            int max_raw_queue_pairs) {
  FailedCall worded = failed;
  if (error_number == EPERM) {
    worded.remedy = max_raw_queue_pairs > 0
                        ? "needs CAP_NET_RAW"
                        : "needs CAP_NET_RAW; whether the device can do raw "
                          "packets is not known before";
  } else if (IsUnsupported(error_number)) {
    worded.remedy =
        "the device cannot do raw packets; use its netdev through "
        "packet:NETDEV";
    return absl::UnimplementedError(
        ErrnoStatus(error_number, worded).message());
  }
  return ErrnoStatus(error_number, worded);
}

absl::Status RssError(int error_number, const FailedCall& failed) {
  FailedCall worded = failed;
  if (IsUnsupported(error_number)) {
    worded.remedy = "the device cannot spread frames; use one receive queue";
    return absl::UnimplementedError(
        ErrnoStatus(error_number, worded).message());
  }
  if (error_number == EINVAL) {
    worded.remedy = "some devices want a number of queues that is a power of 2";
  }
  return ErrnoStatus(error_number, worded);
}

}  // namespace weir::verbs
