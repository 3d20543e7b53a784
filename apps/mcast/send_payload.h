// What mcast send sends: a pattern, a file or what comes on standard input.

#ifndef APPS_MCAST_SEND_PAYLOAD_H_
#define APPS_MCAST_SEND_PAYLOAD_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/flags/declare.h"
#include "absl/status/statusor.h"
#include "apps/mcast/stream_cutter.h"
#include "weir/stage/udp/memory_payload.h"

ABSL_DECLARE_FLAG(std::string, file);
ABSL_DECLARE_FLAG(bool, stdin);

namespace weir::mcast {

// What --size, --file, --stdin, --split and --count say together.
struct PayloadChoice {
  // Of one datagram, at most, without its stamp.
  size_t piece_bytes = 0;
  // Datagrams; 0: as many as there are.
  uint64_t count = 0;
  // Of standard input.
  SplitBy split = SplitBy::kRead;
};

// The flags, of datagrams that have `max_bytes` at most, of which a stamp has
// `stamp_bytes`. InvalidArgument for flags that do not fit together.
absl::StatusOr<PayloadChoice> ReadPayloadChoice(size_t max_bytes,
                                                size_t stamp_bytes);

// A pattern or the file. The errors of opening and reading it.
absl::StatusOr<MemoryPayload> MakeMemoryPayload(const PayloadChoice& choice);

}  // namespace weir::mcast

#endif  // APPS_MCAST_SEND_PAYLOAD_H_
