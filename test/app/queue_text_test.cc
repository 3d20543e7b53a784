#include "weir/app/queue_text.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(DescribeQueuesTest, TellsWhatWasWantedFromWhatThereIs) {
  EXPECT_EQ(DescribeQueues({}), "");
  EXPECT_EQ(DescribeQueues({.tx = 2}), ", 1 RX queue, 2 TX queues");
  EXPECT_EQ(DescribeQueues({.rx_method = RxMethod::kRss,
                            .rx_hash = RxHash::kAddressesAndPorts,
                            .rx_wanted = 4,
                            .rx = 4,
                            .tx = 4}),
            ", 4 RX queues by RSS over addresses and ports, 4 TX queues");
  EXPECT_EQ(DescribeQueues({.rx_method = RxMethod::kRss,
                            .rx_hash = RxHash::kAddresses,
                            .rx_wanted = 2,
                            .rx = 2,
                            .tx = 1}),
            ", 2 RX queues by RSS over addresses, 1 TX queue");
  EXPECT_EQ(
      DescribeQueues(
          {.rx_method = RxMethod::kSoftwareDispatch, .rx_wanted = 4, .tx = 1}),
      ", 1 RX queue of the 4 wanted (no RSS: spread in software), 1 TX "
      "queue");
}

TEST(NameOfTest, IsForPrograms) {
  EXPECT_EQ(NameOf(RxMethod::kSingleQueue), "single_queue");
  EXPECT_EQ(NameOf(RxMethod::kRss), "rss");
  EXPECT_EQ(NameOf(RxMethod::kSoftwareDispatch), "software_dispatch");
  EXPECT_EQ(NameOf(RxHash::kNone), "none");
  EXPECT_EQ(NameOf(RxHash::kAddresses), "addresses");
  EXPECT_EQ(NameOf(RxHash::kAddressesAndPorts), "addresses_and_ports");
}

}  // namespace
}  // namespace weir
