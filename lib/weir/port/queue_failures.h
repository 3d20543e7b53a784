// Why queues failed, by name: what their completions said, or what stood in
// place of a completion.

#ifndef WEIR_PORT_QUEUE_FAILURES_H_
#define WEIR_PORT_QUEUE_FAILURES_H_

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "weir/base/counter.h"

namespace weir {

// The first are those of ibv_wc_status, with their values.
enum class QueueFailure : uint8_t {
  // The queue is in ERR and no completion says why.
  kInError = IBV_WC_WR_FLUSH_ERR,
  // The device refused a work request that was posted.
  kRefused = 32,
  // Its completion queue cannot be polled any more.
  kBrokenCq,
  // It completed nothing for longer than the watchdog allows.
  kStalled,
};

inline constexpr size_t kQueueFailures = 35;

// A status of the verbs as a failure. Any thread.
constexpr QueueFailure FailureOf(ibv_wc_status status) noexcept {
  return static_cast<QueueFailure>(status);
}

// "loc_prot" and the like, as faults on request have it; "status_N" for one
// without a name. Any thread.
std::string NameOf(QueueFailure failure);

// How often a queue failed for which reason. Written by the lcore that owns it;
// any thread may read.
class FailureCounters {
 public:
  void Note(QueueFailure failure) noexcept {
    size_t index = static_cast<size_t>(failure);
    if (index >= kQueueFailures) index = IBV_WC_GENERAL_ERR;
    counts_[index].Add(1);
    last_.Set(index);
  }

  uint64_t count(QueueFailure failure) const noexcept {
    return counts_[static_cast<size_t>(failure)].value();
  }
  // The one that was noted last, if any was.
  QueueFailure last() const noexcept {
    return static_cast<QueueFailure>(last_.value());
  }

 private:
  std::array<Counter, kQueueFailures> counts_;
  Counter last_;
};

}  // namespace weir

#endif  // WEIR_PORT_QUEUE_FAILURES_H_
