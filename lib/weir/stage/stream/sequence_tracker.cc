#include "weir/stage/stream/sequence_tracker.h"

namespace weir {
namespace {

// Where the 16 bits of RTP begin to count, so that there are numbers below.
constexpr uint64_t kRtpBase = uint64_t{1} << 32;

}  // namespace

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
  newest_ns_ = std::max(newest_ns_, sent_ns);
  moved_tsc_ = now_tsc;
  return window_.Note(number);
}

Arrival SequenceTracker::StartRtp(uint16_t number, uint64_t now_tsc) noexcept {
  moved_tsc_ = now_tsc;
  expected_ = kNone;
  if (!window_.is_started()) return window_.Note(kRtpBase + number);
  window_.Restart(kRtpBase + number);
  return Arrival::kNew;
}

Arrival SequenceTracker::NoteRtp(uint16_t number, uint64_t now_tsc) noexcept {
  if (!window_.is_started()) return StartRtp(number, now_tsc);
  const uint64_t next = window_.next();
  const auto ahead =
      static_cast<uint16_t>(number - static_cast<uint16_t>(next));
  if (ahead < kMaxRtpStep) {
    moved_tsc_ = now_tsc;
    expected_ = kNone;
    return window_.Note(next + ahead);
  }
  const auto behind =
      static_cast<uint16_t>(static_cast<uint16_t>(next) - number);
  if (behind <= SequenceWindow::kSize) return window_.Note(next - behind);
  if (number == expected_ && IsQuiet(now_tsc)) return StartRtp(number, now_tsc);
  expected_ = static_cast<uint16_t>(number + 1);
  window_.NoteTooOld();
  return Arrival::kTooOld;
}

}  // namespace weir
