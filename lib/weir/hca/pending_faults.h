// The faults that a port is to meet. Apart from the port, which strikes with
// them.

#ifndef WEIR_HCA_PENDING_FAULTS_H_
#define WEIR_HCA_PENDING_FAULTS_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "weir/base/spin_lock.h"
#include "weir/hca/fault.h"

namespace weir::hca {

// Its lock is the last of all to be taken. Any thread.
class PendingFaults {
 public:
  using Direction = FaultSchedule::Direction;
  using Position = FaultSchedule::Position;
  enum class Outcome : bool { kStruck, kMissed };

  // A fault that is due counts as one more in `backlog`, so that pollers come
  // by.
  explicit PendingFaults(std::atomic<int>& backlog) : backlog_(backlog) {}

  // `name` is that of the device.
  void Schedule(absl::string_view name, std::span<const ScheduledFault> faults);
  void Add(const ScheduledFault& fault);

  // How many of `want` frames may be sent or received before the next fault.
  size_t Room(Direction direction, const Position& at, size_t want) noexcept;

  // Takes the status of a receive error that the next frame is to meet.
  std::optional<ibv_wc_status> TakeReceiveError(const Position& at) noexcept;

  // Takes another fault that is due, for the caller to strike with and then to
  // End; none passes a frame meanwhile. Nothing if there is none, or somebody
  // else is at it.
  std::optional<ScheduledFault> Begin(const Position& at) noexcept;
  // One that missed, for there was nothing to strike, waits for the next frame.
  void End(const ScheduledFault& fault, Outcome outcome) noexcept;

  std::string name();

 private:
  void SetDue(bool due) noexcept;

  SpinLock lock_;
  FaultSchedule schedule_;
  bool is_due_ = false;
  bool runs_ = false;
  std::string name_;
  std::atomic<int>& backlog_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_PENDING_FAULTS_H_
