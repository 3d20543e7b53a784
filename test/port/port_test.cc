#include "weir/port/port.h"

#include <sys/resource.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/port/port_lab.h"
#include "test/support/capability.h"
#include "test/support/own_wire.h"

namespace weir {
namespace {

using ::testing::AllOf;
using testing::FrameBytes;
using ::testing::HasSubstr;
using testing::Lab;
using testing::NumberedFrame;
using testing::OpenOrDie;
using testing::ReceiveInto;
using testing::SendOne;
using ::testing::SizeIs;

constexpr PortOptions kSmall = {.rx_depth = 64, .tx_depth = 64};

TEST(PortTest, TellsWhatItIsAndWhatWasChosen) {
  Lab lab;
  const Port port = OpenOrDie("null:,mtu=3000", *lab.pool, kSmall);
  EXPECT_EQ(port.name(), "null:,mtu=3000");
  EXPECT_EQ(port.mtu_bytes(), 3000u);
  EXPECT_EQ(port.numa_node(), -1);
  EXPECT_TRUE(port.info().is_soft);
  EXPECT_THAT(port.chosen(), HasSubstr("null:,mtu=3000: soft device as "));
  EXPECT_FALSE(port.mac().is_multicast());
}

TEST(PortTest, HasOneQueueADirectionUnlessAskedForMore) {
  Lab lab;
  const Port port = OpenOrDie("null:", *lab.pool, kSmall);
  EXPECT_THAT(port.rx, SizeIs(1));
  EXPECT_THAT(port.tx, SizeIs(1));
  EXPECT_EQ(port.rx[0].depth(), 64u);
  EXPECT_EQ(port.tx[0].depth(), 64u);
  EXPECT_EQ(port.rx_method(), RxMethod::kSingleQueue);
  EXPECT_EQ(port.queues().rx, 1u);
  EXPECT_EQ(port.queues().tx, 1u);
}

TEST(PortTest, RefusesADepthOutOfRange) {
  Lab lab;
  for (const uint32_t depth : {0u, 31u, 32769u}) {
    const auto port = Port::Open("null:", *lab.pool, {.rx_depth = depth});
    EXPECT_THAT(std::string(port.status().message()),
                HasSubstr("want a queue depth from 32 to 32768, got " +
                          std::to_string(depth)));
  }
}

TEST(PortTest, RefusesAnMtuThatItsMbufsCannotHold) {
  // 128 chunks of 512 bytes are more than a receive may have segments.
  const auto pool =
      MbufPool::Create({.mbufs = 512, .chunk_bytes = 512, .caches = 1});
  ASSERT_TRUE(pool.ok()) << pool.status();
  const auto port =
      Port::Open(OwnWire("port_test_mtu") + ",mtu=65535", **pool, kSmall);
  EXPECT_EQ(port.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(port.status().message()),
              AllOf(HasSubstr("a frame of 65557 bytes needs 129 mbufs of 512"),
                    HasSubstr("use larger mbufs or a smaller MTU")));
}

TEST(PortTest, TellsHowManyMbufsItsQueuesHold) {
  PortInfo info;
  info.mtu_bytes = 1500;
  EXPECT_EQ(Port::MbufsHeld(info, {.rx_depth = 100, .tx_depth = 64}, 2048, 128),
            128u + 64u);
  info.mtu_bytes = 9000;
  EXPECT_EQ(Port::MbufsHeld(info, {.rx_depth = 64, .tx_depth = 64}, 2048, 128),
            5u * 128);
}

TEST(PortTest, CarriesFramesByteForByteBetweenTwoPortsOfOneThread) {
  Lab lab(2048);
  {
    Port a = OpenOrDie(OwnWire("port_test_bytes"), *lab.pool, kSmall);
    Port b = OpenOrDie(OwnWire("port_test_bytes"), *lab.pool, kSmall);
    EXPECT_NE(a.mac(), b.mac());
    std::vector<FrameBytes> sent;
    std::vector<FrameBytes> received;
    for (uint32_t bytes = 1; bytes <= 1522; ++bytes) {
      sent.push_back(NumberedFrame(bytes, bytes));
      ASSERT_TRUE(SendOne(a.tx[0], lab.lcore, sent.back()));
      ReceiveInto(b.rx[0], lab.lcore, received);
    }
    while (ReceiveInto(b.rx[0], lab.lcore, received) != 0) {
    }
    EXPECT_EQ(received, sent);
    // And the other way.
    received.clear();
    ASSERT_TRUE(SendOne(b.tx[0], lab.lcore, sent[700]));
    ReceiveInto(a.rx[0], lab.lcore, received);
    EXPECT_EQ(received, std::vector<FrameBytes>{sent[700]});
    EXPECT_EQ(lab.pool->used_mbufs(),
              a.monitor()->held_mbufs() + b.monitor()->held_mbufs());
  }
  EXPECT_EQ(lab.pool->used_mbufs(), 0u);
}

TEST(PortTest, CarriesJumboFramesAsChains) {
  Lab lab(4096);
  {
    Port a =
        OpenOrDie(OwnWire("port_test_jumbo") + ",mtu=9000", *lab.pool, kSmall);
    Port b =
        OpenOrDie(OwnWire("port_test_jumbo") + ",mtu=9000", *lab.pool, kSmall);
    std::vector<FrameBytes> sent;
    std::vector<FrameBytes> received;
    for (const uint32_t bytes : {60u, 9022u, 1920u, 1921u, 5000u, 64u, 9014u}) {
      for (uint32_t i = 0; i < 50; ++i) {
        sent.push_back(NumberedFrame(bytes, i));
        ASSERT_TRUE(SendOne(a.tx[0], lab.lcore, sent.back()));
        ReceiveInto(b.rx[0], lab.lcore, received);
      }
    }
    EXPECT_EQ(received, sent);
    EXPECT_EQ(lab.pool->used_mbufs(),
              a.monitor()->held_mbufs() + b.monitor()->held_mbufs());
  }
  EXPECT_EQ(lab.pool->used_mbufs(), 0u);
}

TEST(PortTest, MonitorOutlivesThePortAndItsQueues) {
  Lab lab;
  std::shared_ptr<PortMonitor> monitor;
  {
    Port port = OpenOrDie("null:", *lab.pool, kSmall);
    monitor = port.monitor();
    RxQueue queue = std::move(port.rx[0]);
    std::vector<FrameBytes> received;
    EXPECT_EQ(ReceiveInto(queue, lab.lcore, received), kDefaultBurst);
    EXPECT_FALSE(queue.finished());
  }
  const std::vector<QueueStats> queues = monitor->queues();
  ASSERT_THAT(queues, SizeIs(2));
  EXPECT_EQ(queues[0].name, "rx0");
  EXPECT_EQ(queues[0].packets, kDefaultBurst);
  EXPECT_EQ(queues[0].bytes, 64u * kDefaultBurst);
  EXPECT_EQ(queues[1].name, "tx0");
  EXPECT_FALSE(monitor->finished());
  EXPECT_EQ(monitor->TakeWarning(), "");
  EXPECT_FALSE(monitor->device_counters().empty());
}

// Opens a port with a limit on locked memory and prints the error.
[[noreturn]] void OpenWithoutLockedMemory() {
  const rlimit limit{65536, 65536};
  if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
      !testing::DropCapability(CAP_IPC_LOCK)) {
    std::cerr << "cannot give up rights\n";
    std::exit(2);
  }
  Lab lab;
  const auto port = Port::Open("null:", *lab.pool, kSmall);
  std::cerr << port.status().message() << "\n";
  std::exit(port.ok() ? 3 : 1);
}

TEST(PortDeathTest, NamesTheLimitOnLockedMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(OpenWithoutLockedMemory(), ::testing::ExitedWithCode(1),
              "^null:: cannot register 1048576 bytes .*RLIMIT_MEMLOCK is "
              "65536 bytes");
}

}  // namespace
}  // namespace weir
