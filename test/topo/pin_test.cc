#include "weir/topo/pin.h"

#include <sched.h>

#include <string>
#include <thread>

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
