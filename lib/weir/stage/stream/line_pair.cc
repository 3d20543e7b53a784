#include "weir/stage/stream/line_pair.h"

namespace weir {

Arrival LinePairState::Note(size_t number, const DatagramStamp& stamp,
                            uint64_t now_tsc) noexcept {
  Line& line = lines_[number];
  if (!line.has_begun) {
    line.has_begun = true;
    line.start = start_;
  }
  const uint64_t restarts = line.tracker.counts().restarts.value();
  const Arrival alone = weir::Note(line.tracker, stamp, now_tsc);
  Arrival arrival = Arrival::kTooOld;
  if (line.tracker.counts().restarts.value() != restarts) {
    if (line.start == start_) {
      arrival = Restart(line, stamp, now_tsc);
    } else {
      line.start = start_;
      arrival = NoteMerged(line, stamp, now_tsc);
    }
  } else if (alone == Arrival::kTooOld) {
    arrival = Refuse();
  } else {
    arrival = NoteMerged(line, stamp, now_tsc);
  }
  if (arrival == Arrival::kNew || arrival == Arrival::kLate) {
    line.first.Add(1);
  }
  return arrival;
}

Arrival LinePairState::NoteMerged(Line& line, const DatagramStamp& stamp,
                                  uint64_t now_tsc) noexcept {
  if (line.start != start_) {
    if (!IsQuiet(started_tsc_, now_tsc)) return Refuse();
    line.start = start_;
  }
  const auto number = NumberOf(stamp);
  if (!number || !merged_.Reaches(*number)) {
    return IsQuiet(moved_tsc_, now_tsc) ? Restart(line, stamp, now_tsc)
                                        : Refuse();
  }
  if (*number >= merged_.next()) moved_tsc_ = now_tsc;
  return merged_.Note(*number);
}

Arrival LinePairState::Restart(Line& line, const DatagramStamp& stamp,
                               uint64_t now_tsc) noexcept {
  line.start = ++start_;
  started_tsc_ = moved_tsc_ = now_tsc;
  merged_.Restart(stamp.is_rtp ? SequenceTracker::WidenFirstRtp(
                                     static_cast<uint16_t>(stamp.number))
                               : stamp.number);
  return Arrival::kNew;
}

std::optional<uint64_t> LinePairState::NumberOf(
    const DatagramStamp& stamp) const noexcept {
  if (!stamp.is_rtp) return stamp.number;
  const auto number = static_cast<uint16_t>(stamp.number);
  if (!merged_.is_started()) return SequenceTracker::WidenFirstRtp(number);
  return SequenceTracker::WidenRtp(number, merged_.next());
}

}  // namespace weir
