// One stream on two lines, each of which may lose some of it: the first of each
// number is the one to keep.
//
// The lines carry the same numbers; who sent them may differ, and when. A start
// of the sender shows on each line by itself. The line that is first takes both
// to the new numbers; what the other brings until it follows is of the time
// before.

#ifndef WEIR_STAGE_STREAM_LINE_PAIR_H_
#define WEIR_STAGE_STREAM_LINE_PAIR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "weir/base/counter.h"
#include "weir/stage/stream/sequence_counts.h"
#include "weir/stage/stream/sequence_tracker.h"
#include "weir/stage/stream/sequence_window.h"
#include "weir/stage/stream/stream_state.h"

namespace weir {

// Owner lcore only, save as said.
class LinePairState {
 public:
  LinePairState() = default;
  // Trackers of lines have `line_quiet_tsc`. In `quiet_tsc` a line has followed
  // the other; numbers that fit neither are a new start if none came that does.
  LinePairState(uint64_t line_quiet_tsc, uint64_t quiet_tsc)
      : quiet_tsc_(quiet_tsc) {
    for (Line& line : lines_) line.tracker = SequenceTracker(line_quiet_tsc);
  }

  // What the number is to both together: kNew and kLate are to keep.
  Arrival Note(size_t line, const DatagramStamp& stamp,
               uint64_t now_tsc) noexcept;

  // Any thread: of one line alone; of both, where lost is what neither brought.
  SequenceTotals line(size_t line) const noexcept {
    return lines_[line].tracker.counts().totals();
  }
  SequenceTotals merged() const noexcept { return merged_.counts().totals(); }
  // Numbers that came on this line before they did, or without them, on the
  // other.
  uint64_t first_on(size_t line) const noexcept {
    return lines_[line].first.value();
  }

 private:
  struct Line {
    SequenceTracker tracker;
    // The start that it is at.
    uint64_t start = 0;
    bool has_begun = false;
    Counter first;
  };

  Arrival NoteMerged(Line& line, const DatagramStamp& stamp,
                     uint64_t now_tsc) noexcept;
  Arrival Refuse() noexcept {
    merged_.NoteTooOld();
    return Arrival::kTooOld;
  }
  Arrival Restart(Line& line, const DatagramStamp& stamp,
                  uint64_t now_tsc) noexcept;
  std::optional<uint64_t> NumberOf(const DatagramStamp& stamp) const noexcept;
  bool IsQuiet(uint64_t since_tsc, uint64_t now_tsc) const noexcept {
    return now_tsc - since_tsc >= quiet_tsc_;
  }

  uint64_t quiet_tsc_ = 0;
  // The newest start; when it was, and when the highest number came.
  uint64_t start_ = 0;
  uint64_t started_tsc_ = 0;
  uint64_t moved_tsc_ = 0;
  std::array<Line, 2> lines_;
  SequenceWindow merged_;
};

}  // namespace weir

#endif  // WEIR_STAGE_STREAM_LINE_PAIR_H_
