#include "weir/stage/stream/sequence_tracker.h"

namespace weir {
Arrival SequenceTracker::StartWeir(uint64_t number, uint64_t sent_ns,
                                   uint64_t now_tsc) noexcept {
  newest_ns_ = start_ns_ = sent_ns;
  moved_tsc_ = now_tsc;
  if (!window_.is_started()) return window_.Note(number);
  window_.Restart(number);
  return Arrival::kNew;
}

Arrival SequenceTracker::NoteOtherWeir(uint64_t number, uint64_t sent_ns,
                                       uint64_t now_tsc) noexcept {
  if (number >> 63 != 0) {
    window_.NoteTooOld();
    return Arrival::kTooOld;
  }
  if (!window_.is_started()) return StartWeir(number, sent_ns, now_tsc);
  if (number < window_.next()) {
    const bool is_far = window_.next() - number > SequenceWindow::kSize;
    if (sent_ns > newest_ns_ || (is_far && IsQuiet(now_tsc))) {
      return StartWeir(number, sent_ns, now_tsc);
    }
    return window_.Note(number);
  }
  if (sent_ns < start_ns_ && !IsQuiet(now_tsc)) {
    window_.NoteTooOld();
    return Arrival::kTooOld;
  }
  if (sent_ns < start_ns_) {
    // The sender's clock was set back: from now on times are of the new one.
    start_ns_ = sent_ns;
    newest_ns_ = sent_ns;
  }
  newest_ns_ = std::max(newest_ns_, sent_ns);
  moved_tsc_ = now_tsc;
  return window_.Note(number);
}

std::optional<uint64_t> SequenceTracker::WidenRtp(uint16_t number,
                                                  uint64_t next) noexcept {
  const auto low = static_cast<uint16_t>(next);
  const auto ahead = static_cast<uint16_t>(number - low);
  if (ahead < kMaxRtpStep) return next + ahead;
  const auto behind = static_cast<uint16_t>(low - number);
  if (behind <= SequenceWindow::kSize) return next - behind;
  return std::nullopt;
}

Arrival SequenceTracker::StartRtp(uint16_t number, uint64_t now_tsc) noexcept {
  moved_tsc_ = now_tsc;
  expected_ = kNone;
  if (!window_.is_started()) return window_.Note(WidenFirstRtp(number));
  window_.Restart(WidenFirstRtp(number));
  return Arrival::kNew;
}

Arrival SequenceTracker::NoteRtp(uint16_t number, uint64_t now_tsc) noexcept {
  if (!window_.is_started()) return StartRtp(number, now_tsc);
  if (const auto wide = WidenRtp(number, window_.next())) {
    if (*wide >= window_.next()) {
      moved_tsc_ = now_tsc;
      expected_ = kNone;
    }
    return window_.Note(*wide);
  }
  if (number == expected_ && IsQuiet(now_tsc)) return StartRtp(number, now_tsc);
  expected_ = static_cast<uint16_t>(number + 1);
  window_.NoteTooOld();
  return Arrival::kTooOld;
}

}  // namespace weir
