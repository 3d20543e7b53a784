// What is where in a segment: a header, a directory (lines of FormatKey, one a
// metric) and the values in the same order. One process writes, any number
// read.
//
// An update makes `sequence` odd, writes, and makes it even again, so a reader
// that saw the same even number before and after has read one whole update. A
// number that stays odd is that of a writer that died. Everything that changes
// is in atomic words: no reader is ever told nonsense by a torn one. What does
// not change stands in the header before the file gets its name.

#ifndef WEIR_METRICS_SEGMENT_LAYOUT_H_
#define WEIR_METRICS_SEGMENT_LAYOUT_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "weir/base/cache_line.h"

namespace weir::internal {

inline constexpr std::array<char, 8> kSegmentMagic = {'w', 'e', 'i', 'r',
                                                      's', 't', 'a', 't'};
// Readers refuse any other.
inline constexpr uint32_t kSegmentVersion = 1;

inline constexpr uint64_t kDirectoryBytes = uint64_t{1} << 20;
inline constexpr uint64_t kMaxMetrics = uint64_t{1} << 15;

using SegmentWord = std::atomic<uint64_t>;
static_assert(sizeof(SegmentWord) == 8 && SegmentWord::is_always_lock_free);

struct alignas(kCacheLine) SegmentHeader {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t pid;
  // When the process opened it, in nanoseconds since the Unix epoch.
  uint64_t start_unix_ns;
  // Ends with a 0.
  std::array<char, 64> app;

  alignas(kCacheLine) SegmentWord sequence;
  // When the values were written.
  SegmentWord written_unix_ns;
  // Which directory it is: another number, other lines.
  SegmentWord generation;
  SegmentWord directory_bytes;
  SegmentWord metrics;
  // Metrics that found no room.
  SegmentWord omitted;
};

struct Segment {
  SegmentHeader header;
  alignas(kCacheLine) std::array<SegmentWord, kDirectoryBytes / 8> directory;
  alignas(kCacheLine) std::array<SegmentWord, kMaxMetrics> values;
};

}  // namespace weir::internal

#endif  // WEIR_METRICS_SEGMENT_LAYOUT_H_
