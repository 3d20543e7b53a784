// Which of the last numbers of a stream have come: a bit each, so that one that
// comes late is told from one that comes twice.

#ifndef WEIR_STAGE_STREAM_SEQUENCE_WINDOW_H_
#define WEIR_STAGE_STREAM_SEQUENCE_WINDOW_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "weir/stage/stream/sequence_counts.h"

namespace weir {

// Owner lcore only, save counts.
class SequenceWindow {
 public:
  // Numbers below the highest that are remembered.
  static constexpr uint64_t kSize = 1024;

  // The first number of a stream may be any; lower ones that come late count
  // from the lowest of them on. In O(1), up to kSize / 64 words for a number
  // far above. `number` is less than 2^64 - 1.
  Arrival Note(uint64_t number) noexcept {
    if (number == next_ && is_started_) [[likely]] {
      Set(number);
      ++next_;
      counts_.received.Add(1);
      return Arrival::kNew;
    }
    return NoteOther(number);
  }

  // As the first number of all; what was counted stays.
  void Restart(uint64_t number) noexcept;
  // One that does not count as any of them.
  void NoteTooOld() noexcept { counts_.too_old.Add(1); }

  // Above the highest number; 0 before the first.
  uint64_t next() const noexcept { return next_; }
  bool is_started() const noexcept { return is_started_; }

  // Whether it is above the highest, or near enough to be remembered.
  bool Reaches(uint64_t number) const noexcept {
    return !is_started_ || number >= next_ || next_ - number <= kSize;
  }

  // Any thread.
  const SequenceCounts& counts() const noexcept { return counts_; }

 private:
  static constexpr uint64_t kWords = kSize / 64;
  static_assert(std::has_single_bit(kSize));

  Arrival NoteOther(uint64_t number) noexcept;
  Arrival NoteBelow(uint64_t number) noexcept;
  void Begin(uint64_t number) noexcept;
  // Forgets what was `kSize` below the numbers from `first` up to `end`.
  void Forget(uint64_t first, uint64_t end) noexcept;

  uint64_t& WordOf(uint64_t number) noexcept {
    return words_[number / 64 % kWords];
  }
  static uint64_t BitOf(uint64_t number) noexcept {
    return uint64_t{1} << number % 64;
  }
  void Set(uint64_t number) noexcept { WordOf(number) |= BitOf(number); }

  uint64_t next_ = 0;
  // Of those since the last start.
  uint64_t lowest_ = 0;
  bool is_started_ = false;
  SequenceCounts counts_;
  std::array<uint64_t, kWords> words_ = {};
};

}  // namespace weir

#endif  // WEIR_STAGE_STREAM_SEQUENCE_WINDOW_H_
