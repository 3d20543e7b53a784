// Ports of several queues: how many there are, and which frames come to which.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/port/port_queues_lab.h"

namespace weir {
namespace {

using testing::Count;
using ::testing::ElementsAre;
using testing::FlowFrame;
using testing::FrameBytes;
using ::testing::HasSubstr;
using testing::Lab;
using testing::OpenOrDie;
using testing::ReceiveAll;
using testing::Received;
using testing::SendOne;
using ::testing::SizeIs;
using testing::Small;
using testing::Wire;

TEST(PortQueuesTest, HasTheQueuesAskedForAndNamesThem) {
  for (uint32_t queues = 2; queues <= 8; ++queues) {
    Lab lab(2048);
    {
      const Port port = OpenOrDie("null:", *lab.pool, Small(queues));
      EXPECT_EQ(port.rx_method(), RxMethod::kRss);
      EXPECT_EQ(port.queues().rx_hash, RxHash::kAddressesAndPorts);
      EXPECT_EQ(port.queues().rx_wanted, queues);
      EXPECT_EQ(port.queues().rx, queues);
      EXPECT_EQ(port.queues().tx, queues);
      EXPECT_THAT(port.rx, SizeIs(queues));
      EXPECT_THAT(port.tx, SizeIs(queues));
      EXPECT_EQ(port.rx[1].port_name(), "null: rx1");
      EXPECT_EQ(port.tx[1].port_name(), "null: tx1");
      const std::vector<QueueStats> stats = port.monitor()->queues();
      ASSERT_THAT(stats, SizeIs(2 * queues));
      EXPECT_EQ(stats[queues - 1].name, "rx" + std::to_string(queues - 1));
      EXPECT_EQ(stats[2 * queues - 1].name, "tx" + std::to_string(queues - 1));
    }
    EXPECT_EQ(lab.pool->used_mbufs(), 0u);
  }
}

TEST(PortQueuesTest, MayHaveMoreQueuesOfOneDirection) {
  Lab lab(2048);
  const Port port = OpenOrDie("null:", *lab.pool,
                              {.rx_queues = 3, .tx_queues = 1, .rx_depth = 64});
  EXPECT_THAT(port.rx, SizeIs(3));
  EXPECT_THAT(port.tx, SizeIs(1));
}

TEST(PortQueuesTest, BringsEachFrameOnceAndEachFlowInOrder) {
  constexpr uint32_t kFlows = 100;
  constexpr uint32_t kFrames = 10;
  for (const uint32_t queues : {2u, 3u, 4u, 7u, 8u}) {
    Wire wire("port_queues_order" + std::to_string(queues), queues);
    std::vector<FrameBytes> sent;
    Received received;
    for (uint32_t number = 0; number < kFrames; ++number) {
      for (uint32_t flow = 0; flow < kFlows; ++flow) {
        sent.push_back(FlowFrame(flow, number));
        ASSERT_TRUE(SendOne(wire.from.tx[0], wire.lab.lcore, sent.back()));
        if (flow % 16 == 0) ReceiveAll(wire.to.rx, wire.lab.lcore, received);
      }
    }
    ReceiveAll(wire.to.rx, wire.lab.lcore, received);
    ASSERT_EQ(Count(received), sent.size());
    // Where frame `number` of a flow is: of one queue, and there in order.
    std::map<FrameBytes, std::pair<size_t, size_t>> places;
    for (size_t i = 0; i < queues; ++i) {
      // No queue has less than half of its share.
      EXPECT_GT(received[i].size(), sent.size() / queues / 2) << i;
      for (size_t j = 0; j < received[i].size(); ++j) {
        EXPECT_TRUE(places.insert({received[i][j], {i, j}}).second);
      }
    }
    for (size_t i = kFlows; i < sent.size(); ++i) {
      const auto before = places.at(sent[i - kFlows]);
      const auto now = places.at(sent[i]);
      EXPECT_EQ(before.first, now.first);
      EXPECT_LT(before.second, now.second);
    }
  }
}

TEST(PortQueuesTest, GivesTheFragmentsOfADatagramToOneQueue) {
  Wire wire("port_queues_fragments", 8);
  std::set<size_t> queues;
  for (int i = 1; i <= 40; ++i) {
    const std::string source = "192.0.2." + std::to_string(i);
    const auto v4 = [&](const Ipv4Fields& fields) {
      return wire.QueueOf(Frame()
                              .Ipv4(source, "198.51.100.7", fields)
                              .Udp(static_cast<uint16_t>(i), 9)
                              .Payload(64)
                              .Build());
    };
    const auto first = v4({.more_fragments = true});
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(v4({.more_fragments = true, .fragment_offset_bytes = 72}), first);
    EXPECT_EQ(v4({.fragment_offset_bytes = 144}), first);
    queues.insert(*first);
    const auto v6 = [&](const Ipv6FragmentFields& fields) {
      return wire.QueueOf(
          Frame()
              .Ipv6("2001:db8::" + std::to_string(i), "2001:db8:1::9")
              .Ipv6Fragment(fields)
              .Udp(static_cast<uint16_t>(i), 9)
              .Payload(64)
              .Build());
    };
    const auto first6 = v6({.id = 7, .more_fragments = true});
    ASSERT_TRUE(first6.has_value());
    EXPECT_EQ(v6({.id = 7, .offset_bytes = 72}), first6);
  }
  EXPECT_EQ(queues.size(), 8u);
}

TEST(PortQueuesTest, GivesBothDirectionsOfAFlowToOneQueue) {
  Wire wire("port_queues_symmetric", 8);
  for (uint16_t i = 1; i <= 40; ++i) {
    const std::string a = "192.0.2." + std::to_string(i);
    const std::string a6 = "2001:db8::" + std::to_string(i);
    const auto port = static_cast<uint16_t>(i * 271);
    EXPECT_EQ(wire.QueueOf(Frame().Ipv4(a, "10.0.0.1").Tcp(port, 80).Build()),
              wire.QueueOf(Frame().Ipv4("10.0.0.1", a).Tcp(80, port).Build()));
    EXPECT_EQ(
        wire.QueueOf(Frame().Ipv6(a6, "2001:db8:1::9").Udp(port, 53).Build()),
        wire.QueueOf(Frame().Ipv6("2001:db8:1::9", a6).Udp(53, port).Build()));
  }
}

TEST(PortQueuesTest, GivesWhatIsNotIpToTheFirstQueue) {
  Wire wire("port_queues_other", 4);
  EXPECT_EQ(wire.QueueOf(
                Frame().Eth(kTestMacA, kTestMacB, 0x0806).Payload(46).Build()),
            0u);
}

TEST(PortQueuesTest, HasOneReceiveQueueWhereTheDeviceCannotSpread) {
  Lab lab;
  const Port port = OpenOrDie("null:,rss=off", *lab.pool, Small(4));
  EXPECT_EQ(port.rx_method(), RxMethod::kSoftwareDispatch);
  EXPECT_EQ(port.queues().rx_wanted, 4u);
  EXPECT_EQ(port.queues().rx, 1u);
  EXPECT_EQ(port.queues().rx_hash, RxHash::kNone);
  EXPECT_THAT(port.rx, SizeIs(1));
  EXPECT_THAT(port.tx, SizeIs(4));
}

TEST(PortQueuesTest, RefusesADeviceThatCannotSpreadIfAllQueuesAreNeeded) {
  Lab lab;
  PortOptions options = Small(4);
  options.needs_all_rx_queues = true;
  const auto port = Port::Open("null:,rss=off", *lab.pool, options);
  EXPECT_EQ(port.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(port.status().message()),
              HasSubstr("null:,rss=off: 4 RX queues are wanted, and weir"));
  EXPECT_THAT(std::string(port.status().message()),
              HasSubstr("cannot spread frames over several (RSS of raw packet "
                        "queue pairs); use 1"));
}

TEST(PortQueuesTest, RefusesNumbersOfQueuesThatNoPortHas) {
  Lab lab;
  for (const uint32_t queues : {0u, 129u}) {
    for (const PortOptions& options :
         {PortOptions{.rx_queues = queues}, PortOptions{.tx_queues = queues}}) {
      const auto port = Port::Open("null:", *lab.pool, options);
      EXPECT_EQ(port.status().code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(port.status().message()),
                  HasSubstr("want from 1 to 128 queues a direction, got " +
                            std::to_string(queues)));
    }
  }
}

TEST(PortQueuesTest, TellsHowManyMbufsAllQueuesHold) {
  PortInfo info;
  info.mtu_bytes = 1500;
  info.can_spread = true;
  const PortOptions options = {
      .rx_queues = 4, .tx_queues = 3, .rx_depth = 128, .tx_depth = 64};
  EXPECT_EQ(Port::MbufsHeld(info, options, 2048, 128), 4u * 128 + 3 * 64);
  info.can_spread = false;
  EXPECT_EQ(Port::MbufsHeld(info, options, 2048, 128), 128u + 3 * 64);
}

TEST(PortQueuesTest, SendsByEachOfItsQueues) {
  Lab lab(2048);
  Port from = OpenOrDie(OwnWire("port_queues_tx"), *lab.pool, Small(4));
  Port to = OpenOrDie(OwnWire("port_queues_tx"), *lab.pool, Small(1));
  std::vector<FrameBytes> sent;
  for (uint32_t i = 0; i < 8; ++i) {
    sent.push_back(FlowFrame(i, i));
    ASSERT_TRUE(SendOne(from.tx[i % 4], lab.lcore, sent.back()));
  }
  Received received;
  ReceiveAll(to.rx, lab.lcore, received);
  EXPECT_THAT(received, ElementsAre(sent));
  for (const TxQueue& queue : from.tx) {
    EXPECT_EQ(queue.counters()->posts.value(), 2u);
  }
}

}  // namespace
}  // namespace weir
