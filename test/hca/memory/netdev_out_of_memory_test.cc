// The media on netdevs, for which see also out_of_memory_test.

#include <string>

#include "gtest/gtest.h"
#include "test/hca/backend/kernel_host.h"
#include "test/hca/memory/everything.h"

namespace weir::hca {
namespace {

class NetdevOutOfMemoryTest : public ::testing::TestWithParam<std::string> {};

TEST_P(NetdevOutOfMemoryTest, LeavesNothingBehindWhereverItRunsOut) {
  ASSERT_EQ(EnterNewNetwork(), "");
  const KernelHost host("out", "in");
  ExpectNothingLeftBehind(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Media, NetdevOutOfMemoryTest,
                         testing::Values("packet:out", "xdp:out", "tap:made"));

}  // namespace
}  // namespace weir::hca
