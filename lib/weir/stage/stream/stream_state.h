// What is known of one stream.

#ifndef WEIR_STAGE_STREAM_STREAM_STATE_H_
#define WEIR_STAGE_STREAM_STREAM_STATE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "weir/base/counter.h"
#include "weir/stage/stream/sequence_counts.h"
#include "weir/stage/stream/sequence_tracker.h"

namespace weir {

// The number of a datagram, of either kind.
struct DatagramStamp {
  uint64_t number = 0;
  // Of SequenceStamp: when it was sent, in ns since 1970; of RTP its timestamp.
  uint64_t time = 0;
  bool is_rtp = false;
};

inline Arrival Note(SequenceTracker& tracker, const DatagramStamp& stamp,
                    uint64_t now_tsc) noexcept {
  return stamp.is_rtp
             ? tracker.NoteRtp(static_cast<uint16_t>(stamp.number), now_tsc)
             : tracker.NoteWeir(stamp.number, stamp.time, now_tsc);
}

// RFC 3550 §6.4.1, A.8: the mean deviation of how far apart datagrams come from
// how far apart they were sent, as a reader sees it in nanoseconds. Owner lcore
// only.
class Jitter {
 public:
  void Note(uint32_t timestamp, uint64_t arrival_ns,
            double ns_per_tick) noexcept {
    if (arrival_ns_ != 0) {
      const auto apart =
          static_cast<double>(static_cast<int32_t>(timestamp - timestamp_));
      const double d =
          static_cast<double>(static_cast<int64_t>(arrival_ns - arrival_ns_)) -
          apart * ns_per_tick;
      // Exact up to 104 days, and no further.
      const auto apart_ns =
          static_cast<int64_t>(std::min(std::abs(d), kMaxApartNs));
      sixteenths_ += apart_ns - ((sixteenths_ + 8) >> 4);
      ns_.Set(static_cast<uint64_t>(sixteenths_ >> 4));
    }
    timestamp_ = timestamp;
    arrival_ns_ = arrival_ns;
  }
  // Any thread.
  uint64_t ns() const noexcept { return ns_.value(); }

 private:
  // 2^53.
  static constexpr double kMaxApartNs = 9007199254740992;

  uint64_t arrival_ns_ = 0;
  int64_t sixteenths_ = 0;
  uint32_t timestamp_ = 0;
  Counter ns_;
};

// A stream from one sender.
class StreamState {
 public:
  StreamState() = default;
  explicit StreamState(uint64_t quiet_tsc) : tracker_(quiet_tsc) {}

  Arrival Note(const DatagramStamp& stamp, uint64_t now_tsc) noexcept {
    return weir::Note(tracker_, stamp, now_tsc);
  }
  Jitter& jitter() noexcept { return jitter_; }

  // Any thread.
  SequenceTotals totals() const noexcept { return tracker_.counts().totals(); }
  const Jitter& jitter() const noexcept { return jitter_; }

 private:
  SequenceTracker tracker_;
  Jitter jitter_;
};

}  // namespace weir

#endif  // WEIR_STAGE_STREAM_STREAM_STATE_H_
