// What --sequence and the like say, to send and to recv.

#ifndef APPS_MCAST_SEQUENCE_FLAGS_H_
#define APPS_MCAST_SEQUENCE_FLAGS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "weir/stage/stream/sequence.h"

namespace weir::mcast {

// Of send: whether there are stamps. InvalidArgument for what is neither none
// nor weir.
absl::StatusOr<bool> ReadSendSequence();

// Of recv, without pairs; nothing without --sequence. InvalidArgument for what
// is wrong.
absl::StatusOr<std::optional<SequenceOptions>> ReadRecvSequence();

}  // namespace weir::mcast

#endif  // APPS_MCAST_SEQUENCE_FLAGS_H_
