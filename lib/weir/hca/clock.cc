#include "weir/hca/clock.h"

#include <ctime>

namespace weir::hca {
namespace {

uint64_t ReadNs(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

uint64_t HcaClockTicks() noexcept { return ReadNs(CLOCK_MONOTONIC_RAW); }

uint64_t SteadyNs() noexcept { return ReadNs(CLOCK_MONOTONIC); }

uint64_t WallClockNs() noexcept { return ReadNs(CLOCK_REALTIME); }

}  // namespace weir::hca
