// When a sender began anew, when a number is just late, and what 16 bits of a
// number mean: in front of a window of the numbers that came.

#ifndef WEIR_STAGE_STREAM_SEQUENCE_TRACKER_H_
#define WEIR_STAGE_STREAM_SEQUENCE_TRACKER_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "weir/stage/stream/sequence_counts.h"
#include "weir/stage/stream/sequence_window.h"

namespace weir {

// One stream, whose datagrams all have numbers of one kind. Owner lcore only,
// save counts.
class SequenceTracker {
 public:
  // RFC 3550 A.1: steps of the number that are taken for loss.
  static constexpr uint16_t kMaxRtpStep = 3000;

  // Ticks without a number that fits, after which those that do not fit are
  // taken for a new start. See the two kinds.
  explicit SequenceTracker(uint64_t quiet_tsc = 0) noexcept
      : quiet_tsc_(quiet_tsc) {}

  // Of a SequenceStamp. A lower number that was sent later than all before it
  // is a new start; a higher one that was sent before the last start is of the
  // time before. Where a clock was set, that holds after the quiet time only.
  // Numbers of 63 bits: those above are never right.
  Arrival NoteWeir(uint64_t number, uint64_t sent_ns,
                   uint64_t now_tsc) noexcept {
    if (number == window_.next() && sent_ns >= newest_ns_ &&
        window_.is_started()) [[likely]] {
      newest_ns_ = sent_ns;
      moved_tsc_ = now_tsc;
      return window_.Note(number);
    }
    return NoteOtherWeir(number, sent_ns, now_tsc);
  }

  // Of RTP (RFC 3550 §5.1, A.1): numbers go on after 65535 with 0. One that is
  // far from the highest is too old, until the one after it follows: then that
  // is a new start, if the quiet time is over.
  Arrival NoteRtp(uint16_t number, uint64_t now_tsc) noexcept;

  // The number of RTP that `number` is the end of, the one nearest to `next`,
  // which is above the highest so far; nothing if it is far from that.
  static std::optional<uint64_t> WidenRtp(uint16_t number,
                                          uint64_t next) noexcept;
  // The same of the first of all: with numbers below.
  static uint64_t WidenFirstRtp(uint16_t number) noexcept {
    return (uint64_t{1} << 32) + number;
  }

  // Any thread.
  const SequenceCounts& counts() const noexcept { return window_.counts(); }

 private:
  Arrival NoteOtherWeir(uint64_t number, uint64_t sent_ns,
                        uint64_t now_tsc) noexcept;
  Arrival StartWeir(uint64_t number, uint64_t sent_ns,
                    uint64_t now_tsc) noexcept;
  Arrival StartRtp(uint16_t number, uint64_t now_tsc) noexcept;
  bool IsQuiet(uint64_t now_tsc) const noexcept {
    return now_tsc - moved_tsc_ >= quiet_tsc_;
  }

  uint64_t quiet_tsc_;
  // When the highest number came.
  uint64_t moved_tsc_ = 0;
  // Of a SequenceStamp: the latest time since the last start, and that of the
  // datagram that was it.
  uint64_t newest_ns_ = 0;
  uint64_t start_ns_ = 0;
  // Of RTP: what follows the last number that was too far off.
  uint32_t expected_ = kNone;
  static constexpr uint32_t kNone = UINT32_MAX;
  SequenceWindow window_;
};

}  // namespace weir

#endif  // WEIR_STAGE_STREAM_SEQUENCE_TRACKER_H_
