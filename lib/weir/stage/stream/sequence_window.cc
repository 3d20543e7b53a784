#include "weir/stage/stream/sequence_window.h"

namespace weir {

void SequenceWindow::Begin(uint64_t number) noexcept {
  words_ = {};
  Set(number);
  lowest_ = number;
  next_ = number + 1;
  is_started_ = true;
  counts_.received.Add(1);
}

void SequenceWindow::Restart(uint64_t number) noexcept {
  counts_.restarts.Add(1);
  Begin(number);
}

Arrival SequenceWindow::NoteOther(uint64_t number) noexcept {
  if (!is_started_) {
    Begin(number);
    return Arrival::kNew;
  }
  if (number < next_) return NoteBelow(number);
  Forget(next_, number);
  Set(number);
  counts_.lost.Add(number - next_);
  counts_.received.Add(1);
  next_ = number + 1;
  return Arrival::kNew;
}

Arrival SequenceWindow::NoteBelow(uint64_t number) noexcept {
  if (next_ - number > kSize) {
    counts_.too_old.Add(1);
    return Arrival::kTooOld;
  }
  if ((WordOf(number) & BitOf(number)) != 0) {
    counts_.duplicates.Add(1);
    return Arrival::kDuplicate;
  }
  Set(number);
  if (number < lowest_) {
    counts_.lost.Add(lowest_ - number - 1);
    lowest_ = number;
  } else {
    counts_.lost.Set(counts_.lost.value() - 1);
  }
  counts_.late.Add(1);
  counts_.received.Add(1);
  return Arrival::kLate;
}

void SequenceWindow::Forget(uint64_t first, uint64_t end) noexcept {
  if (end - first >= kSize) {
    words_ = {};
    return;
  }
  while (first != end) {
    const uint64_t in_word = first % 64;
    const uint64_t count =
        end - first < 64 - in_word ? end - first : 64 - in_word;
    const uint64_t bits =
        count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
    WordOf(first) &= ~(bits << in_word);
    first += count;
  }
}

}  // namespace weir
