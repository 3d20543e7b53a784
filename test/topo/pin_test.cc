#include "weir/topo/pin.h"

#include <sched.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "weir/topo/topology.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

TEST(PinTest, LeavesTheThreadOnThatLcoreOnly) {
  const auto topology = Topology::Read();
  ASSERT_TRUE(topology.ok()) << topology.status();
  for (const LcoreInfo& lcore : topology->lcores()) {
    std::thread([&lcore] {
      const absl::Status pinned = PinThisThread(lcore.id);
      ASSERT_TRUE(pinned.ok()) << pinned;
      cpu_set_t set;
      ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
      EXPECT_EQ(CPU_COUNT(&set), 1);
      EXPECT_TRUE(CPU_ISSET(lcore.id, &set));
      EXPECT_EQ(sched_getcpu(), static_cast<int>(lcore.id));
    }).join();
  }
}

TEST(PinTest, KeepsAThreadOffLcoresWhileOthersAreLeft) {
  std::thread([] {
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
    uint32_t first = 0;
    while (!CPU_ISSET(first, &before)) ++first;
    KeepThisThreadOff(std::vector<uint32_t>{first});
    cpu_set_t after;
    ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
    if (CPU_COUNT(&before) > 1) {
      EXPECT_FALSE(CPU_ISSET(first, &after));
      EXPECT_EQ(CPU_COUNT(&after), CPU_COUNT(&before) - 1);
    } else {
      EXPECT_TRUE(CPU_EQUAL(&before, &after));
    }
    // Now all of them: nothing else is left.
    std::vector<uint32_t> all(CPU_SETSIZE);
    for (uint32_t i = 0; i < CPU_SETSIZE; ++i) all[i] = i;
    KeepThisThreadOff(all);
    cpu_set_t last;
    ASSERT_EQ(sched_getaffinity(0, sizeof(last), &last), 0);
    EXPECT_TRUE(CPU_EQUAL(&after, &last));
  }).join();
}

TEST(PinTest, NamesAnLcoreThatCannotBeHad) {
  for (const uint32_t id : {1023U, 1024U, 4'000'000'000U}) {
    const absl::Status pinned = PinThisThread(id);
    EXPECT_EQ(pinned.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(pinned.message()),
                HasSubstr("lcore " + std::to_string(id)));
  }
}

}  // namespace
}  // namespace weir
