#include "weir/memory/lock_limit.h"

#include <sys/resource.h>

#include <cstdlib>

#include "gtest/gtest.h"
#include "test/support/capability.h"

namespace weir {
namespace {

constexpr rlim_t kLimitBytes = 65536;

// Exits with 0 if the limit is seen.
[[noreturn]] void LookAtTheLimit() {
  const rlimit limit{kLimitBytes, kLimitBytes};
  if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
      !testing::DropCapability(CAP_IPC_LOCK)) {
    std::exit(2);
  }
  std::exit(LockLimitBytes() == kLimitBytes ? 0 : 1);
}

TEST(LockLimitDeathTest, IsTheLimitOfAProcessWithoutRights) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(LookAtTheLimit(), ::testing::ExitedWithCode(0), "");
}

// Exits with 0 if a limit that is none is not taken for one.
[[noreturn]] void LookAtNoLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) std::exit(2);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_MEMLOCK, &limit);
  const bool unlimited = limit.rlim_max == RLIM_INFINITY;
  std::exit(!unlimited || !LockLimitBytes() ? 0 : 1);
}

TEST(LockLimitDeathTest, IsNothingForAnUnlimitedProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(LookAtNoLimit(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weir
