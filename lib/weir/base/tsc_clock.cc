#include "weir/base/tsc_clock.h"

#include <ctime>

namespace weir {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;
// Long enough that the error of two clock reads (below 1 us) is under 0.02 %.
constexpr uint64_t kCalibrationNs = 10'000'000;

uint64_t MonotonicNs() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond +
         static_cast<uint64_t>(now.tv_nsec);
}

uint64_t MeasureTscHz() noexcept {
  const uint64_t ns_begin = MonotonicNs();
  const uint64_t tsc_begin = ReadTsc();
  uint64_t ns = ns_begin;
  while (ns - ns_begin < kCalibrationNs) {
    ns = MonotonicNs();
  }
  const uint64_t ticks = ReadTsc() - tsc_begin;
  return static_cast<uint64_t>(static_cast<double>(ticks) * kNsPerSecond /
                               static_cast<double>(ns - ns_begin));
}

}  // namespace

uint64_t TscHz() noexcept {
  static const uint64_t kHz = MeasureTscHz();
  return kHz;
}

}  // namespace weir
