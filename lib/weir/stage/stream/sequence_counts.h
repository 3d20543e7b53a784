// What is counted of numbered datagrams.

#ifndef WEIR_STAGE_STREAM_SEQUENCE_COUNTS_H_
#define WEIR_STAGE_STREAM_SEQUENCE_COUNTS_H_

#include <cstdint>

#include "weir/base/counter.h"

namespace weir {

// What became of a datagram's number.
enum class Arrival : uint8_t {
  // Above all before.
  kNew,
  // Below the highest, and missing until now.
  kLate,
  // It came before.
  kDuplicate,
  // So far below the highest that nobody knows, or of an earlier start of the
  // sender.
  kTooOld,
};

// At one moment. All that came = received + duplicates + too_old; all that the
// sender is known to have sent = received + lost.
struct SequenceTotals {
  // Numbers that came, each once.
  uint64_t received = 0;
  // Numbers below the highest that have not come, or came too late to tell.
  uint64_t lost = 0;
  // Of received: after a higher one.
  uint64_t late = 0;
  uint64_t duplicates = 0;
  uint64_t too_old = 0;
  // How often the sender began anew.
  uint64_t restarts = 0;

  SequenceTotals& operator+=(const SequenceTotals& other) noexcept {
    received += other.received;
    lost += other.lost;
    late += other.late;
    duplicates += other.duplicates;
    too_old += other.too_old;
    restarts += other.restarts;
    return *this;
  }
  friend bool operator==(const SequenceTotals&,
                         const SequenceTotals&) = default;
};

// Owner lcore writes.
struct SequenceCounts {
  Counter received;
  Counter lost;
  Counter late;
  Counter duplicates;
  Counter too_old;
  Counter restarts;

  // Any thread.
  SequenceTotals totals() const noexcept {
    return {.received = received.value(),
            .lost = lost.value(),
            .late = late.value(),
            .duplicates = duplicates.value(),
            .too_old = too_old.value(),
            .restarts = restarts.value()};
  }
  void Add(const SequenceTotals& more) noexcept {
    received.Add(more.received);
    lost.Add(more.lost);
    late.Add(more.late);
    duplicates.Add(more.duplicates);
    too_old.Add(more.too_old);
    restarts.Add(more.restarts);
  }
};

}  // namespace weir

#endif  // WEIR_STAGE_STREAM_SEQUENCE_COUNTS_H_
