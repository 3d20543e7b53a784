#include "weir/verbs/memory_region.h"

#include <sys/resource.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/capability.h"
#include "weir/verbs/soft_hca.h"

namespace weir::verbs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A device with a domain, which an error would make useless for a test.
struct Opened {
  Device device = *Device::Open(*AddSoftDevice("null:"));
  ProtectionDomain domain = *ProtectionDomain::Create(device);
};

TEST(MemoryRegionTest, GivesEachRegionAKeyOfItsOwn) {
  const Opened opened;
  std::vector<std::byte> memory(1 << 20);
  const auto first = MemoryRegion::Register(opened.domain, memory);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = MemoryRegion::Register(opened.domain, memory);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE(first->lkey(), second->lkey());
}

TEST(MemoryRegionTest, NamesTheDeviceAndTheSizeWhenRefused) {
  const Opened opened;
  const auto region = MemoryRegion::Register(opened.domain, {});
  EXPECT_THAT(
      std::string(region.status().message()),
      AllOf(HasSubstr(opened.device.name()),
            HasSubstr("cannot register 0 bytes"), HasSubstr("ibv_reg_mr")));
}

// Registers 1 MiB with a limit of 64 KiB and prints the error.
[[noreturn]] void RegisterWithoutRights() {
  const rlimit limit{65536, 65536};
  if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
      !testing::DropCapability(CAP_IPC_LOCK)) {
    std::cerr << "cannot give up rights\n";
    std::exit(2);
  }
  const Opened opened;
  std::vector<std::byte> memory(1 << 20);
  const auto region = MemoryRegion::Register(opened.domain, memory);
  std::cerr << region.status().message() << "\n";
  std::exit(absl::IsResourceExhausted(region.status()) ? 1 : 3);
}

TEST(MemoryRegionDeathTest, NamesTheLimitOnLockedMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(RegisterWithoutRights(), ::testing::ExitedWithCode(1),
              "cannot register 1048576 bytes .*RLIMIT_MEMLOCK is 65536 bytes.*"
              "`ulimit -l 1024`.*CAP_IPC_LOCK");
}

}  // namespace
}  // namespace weir::verbs
