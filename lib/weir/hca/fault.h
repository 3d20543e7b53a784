// Faults on request: what a program meets on hardware once in a year, at a
// frame of its choice and as often as it likes.

#ifndef WEIR_HCA_FAULT_H_
#define WEIR_HCA_FAULT_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/hca/device_key.h"

namespace weir::hca {

struct Fault {
  enum class Kind : uint8_t {
    kSendError,     // The next frame to send completes with `status`.
    kReceiveError,  // The next frame received does.
    kQpError,       // Every queue pair that works fails.
    kCqOverrun,     // The completion queues of every queue pair do.
    kPortDown,      // The link goes, for `duration_ns` if that is not 0.
    kPortUp,
    kRemove,  // The device goes.
    // Sends are accepted and never complete, for `duration_ns` if that is not
    // 0, or until their queue pair is reset.
    kSendStall,
  };

  Kind kind;
  ibv_wc_status status = IBV_WC_SUCCESS;
  uint64_t duration_ns = 0;
};

// A fault right before a frame: before number `at_frame`, from 1, of those sent
// for send errors and stalls, of those received for a receive error, of both
// together for the rest. Frames that are lost while the link is forced down
// count.
struct ScheduledFault {
  Fault fault;
  uint64_t at_frame;
};

// Reads `NAME[:WHAT]`: send_error, recv_error (`:STATUS`), qp_error,
// cq_overrun, port_down (`:TIME`), port_up, remove, send_stall (`:TIME`).
// InvalidArgument, beginning
// with `object` and listing what there is, for anything else. Any thread.
absl::StatusOr<Fault> ParseFault(absl::string_view text,
                                 absl::string_view object);

// Reads the option `fault` of a key, `NAME@N[:WHAT]` joined by "+"; nothing if
// there is none. InvalidArgument as above. Any thread.
absl::StatusOr<std::vector<ScheduledFault>> ParseFaults(const DeviceKey& key);

// The faults to come. Serialised by its owner.
class FaultSchedule {
 public:
  enum class Direction : bool { kReceive, kSend };
  // Frames so far.
  struct Position {
    uint64_t received;
    uint64_t sent;
  };

  void Add(const ScheduledFault& fault);
  // The same for one that TakeDue gave, if no other is out; needs no memory.
  void PutBack(const ScheduledFault& fault) noexcept {
    faults_.push_back(fault);
  }

  // Of `want` frames, how many may go before the next fault that concerns them.
  // A receive error that is due holds nothing up: the next frame meets it.
  size_t Room(Direction direction, const Position& at,
              size_t want) const noexcept;

  // Takes out the first fault that is due; receive errors and the others are
  // asked for apart.
  std::optional<ScheduledFault> TakeDue(const Position& at) noexcept;
  std::optional<ScheduledFault> TakeDueReceiveError(
      const Position& at) noexcept;

 private:
  std::vector<ScheduledFault> faults_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_FAULT_H_
