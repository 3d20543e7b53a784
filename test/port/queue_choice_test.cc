#include "weir/port/queue_choice.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "weir/port/rx_spread.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr verbs::RssLimits kRss = {
    .work_queues = 64,
    .table_entries = 16,
    .hash_fields = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 |
                   IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6};

PortInfo Device(bool is_soft) {
  PortInfo info;
  info.name = "eth0";
  info.device = "mlx5_0";
  info.is_soft = is_soft;
  return info;
}

TEST(QueueChoiceTest, WantsNoHashForOneQueue) {
  const auto queues = ChooseQueues(Device(false), kRss, {.rx = 1, .tx = 3});
  ASSERT_TRUE(queues.ok()) << queues.status();
  EXPECT_EQ(queues->rx_method, RxMethod::kSingleQueue);
  EXPECT_EQ(queues->rx_hash, RxHash::kNone);
  EXPECT_EQ(queues->rx, 1u);
  EXPECT_EQ(queues->tx, 3u);
}

TEST(QueueChoiceTest, HashesOverPortsOnlyWhereFragmentsStayTogether) {
  const auto real = ChooseQueues(Device(false), kRss, {.rx = 4});
  const auto soft = ChooseQueues(Device(true), kRss, {.rx = 4});
  ASSERT_TRUE(real.ok() && soft.ok()) << real.status() << soft.status();
  EXPECT_EQ(real->rx_method, RxMethod::kRss);
  EXPECT_EQ(real->rx_hash, RxHash::kAddresses);
  EXPECT_EQ(soft->rx_hash, RxHash::kAddressesAndPorts);
}

TEST(QueueChoiceTest, NamesTheLimitOfTheDevice) {
  const auto most = ChooseQueues(Device(false), kRss, {.rx = 16});
  EXPECT_TRUE(most.ok()) << most.status();
  const auto more = ChooseQueues(Device(false), kRss, {.rx = 17});
  EXPECT_EQ(more.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(more.status().message(),
            "eth0: 17 RX queues are wanted, mlx5_0 has 16 at most");
}

TEST(QueueChoiceTest, FallsBackOrRefusesWithoutAHashOverAllAddresses) {
  verbs::RssLimits ipv4 = kRss;
  ipv4.hash_fields = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4;
  verbs::RssLimits few = kRss;
  few.table_entries = 1;
  for (const verbs::RssLimits& rss : {verbs::RssLimits{}, ipv4, few}) {
    const auto one = ChooseQueues(Device(false), rss, {.rx = 4, .tx = 4});
    ASSERT_TRUE(one.ok()) << one.status();
    EXPECT_EQ(one->rx_method, RxMethod::kSoftwareDispatch);
    EXPECT_EQ(one->rx_wanted, 4u);
    EXPECT_EQ(one->rx, 1u);
    const auto all =
        ChooseQueues(Device(false), rss, {.rx = 4, .needs_all_rx = true});
    EXPECT_EQ(all.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(all.status().message()),
                HasSubstr("eth0: 4 RX queues are wanted, and mlx5_0 cannot"));
  }
}

TEST(RxSpreadTest, SharesATableOutEvenly) {
  EXPECT_EQ(RxSpread::TableEntries(2, 2048), 2u);
  EXPECT_EQ(RxSpread::TableEntries(64, 64), 64u);
  EXPECT_EQ(RxSpread::TableEntries(3, 2048), 64u);
  EXPECT_EQ(RxSpread::TableEntries(7, 2048), 128u);
  EXPECT_EQ(RxSpread::TableEntries(100, 2048), 2048u);
  for (uint32_t count = 3; count <= 128; ++count) {
    // Some queues may have one entry more than others.
    const size_t entries = RxSpread::TableEntries(count, 2048);
    EXPECT_TRUE(entries == count || entries / count >= 16) << count;
  }
  // What the device has.
  EXPECT_EQ(RxSpread::TableEntries(3, 8), 8u);
  EXPECT_EQ(RxSpread::TableEntries(3, 7), 4u);
  EXPECT_EQ(RxSpread::TableEntries(3, 3), 0u);
  EXPECT_EQ(RxSpread::TableEntries(4, 3), 0u);
}

}  // namespace
}  // namespace weir
