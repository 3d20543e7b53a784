// The watchdog of TX queues: what completes nothing is reset, what a peer does
// not take yet is waited for.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/port/faulty_port.h"
#include "test/port/port_lab.h"
#include "test/support/own_wire.h"

namespace weir {
namespace {

using testing::DropOf;
using testing::Faulty;
using testing::FrameBytes;
using testing::Lab;
using testing::NumberedFrame;
using testing::OpenOrDie;
using testing::ReapUntil;
using testing::ReceiveInto;
using testing::SendOne;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kWatchdogMs = 20;
constexpr PortOptions kSmall = {
    .rx_depth = 64, .tx_depth = 64, .tx_watchdog_ms = kWatchdogMs};
// Of the queues of a monitor: RX queues come first.
constexpr size_t kTx = 1;

// Sends frames of 1000 bytes, numbered from 0, as long as there is room, and
// returns how many.
uint32_t SendUntilFull(TxQueue& queue, Lcore& lcore) {
  uint32_t sent = 0;
  while (SendOne(queue, lcore, NumberedFrame(1000, sent))) ++sent;
  return sent;
}

TEST(TxWatchdogTest, ResetsAQueueThatCompletesNothing) {
  Lab lab(1024);
  Faulty faulty("null:", *lab.pool, kSmall);
  const TxCounters& counters = *faulty.tx().counters();
  faulty.Inject("send_stall");
  for (uint32_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(SendOne(faulty.tx(), lab.lcore, NumberedFrame(64, i)));
  }
  EXPECT_EQ(faulty.tx().in_flight(), 10u);
  const auto begin = Clock::now();
  ASSERT_TRUE(ReapUntil(faulty.tx(), lab.lcore,
                        [&] { return counters.errors.value() == 1; }));
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(kWatchdogMs / 2));
  EXPECT_EQ(DropOf(*faulty.port.monitor(), kTx, "stalled"), 10u);
  EXPECT_EQ(DropOf(*faulty.port.monitor(), kTx, "lost-in-recovery"), 0u);
  EXPECT_EQ(faulty.port.monitor()->queues()[kTx].last_failure, "stalled");
  EXPECT_EQ(faulty.tx().in_flight(), 0u);
  // And goes on.
  ASSERT_TRUE(SendOne(faulty.tx(), lab.lcore, NumberedFrame(64, 1)));
  ASSERT_TRUE(ReapUntil(faulty.tx(), lab.lcore,
                        [&] { return counters.completions.value() == 1; }));
  EXPECT_EQ(counters.recoveries.value(), 1u);
}

TEST(TxWatchdogTest, LosesNothingOfAStallThatEndsInTime) {
  Lab lab(1024);
  PortOptions patient = kSmall;
  patient.tx_watchdog_ms = 60'000;
  Faulty faulty("null:", *lab.pool, patient);
  faulty.Inject("send_stall:5ms");
  ASSERT_TRUE(SendOne(faulty.tx(), lab.lcore, NumberedFrame(64, 1)));
  EXPECT_EQ(faulty.tx().in_flight(), 1u);
  ASSERT_TRUE(ReapUntil(faulty.tx(), lab.lcore,
                        [&] { return faulty.tx().in_flight() == 0; }));
  EXPECT_EQ(faulty.tx().counters()->completions.value(), 1u);
  EXPECT_EQ(faulty.tx().counters()->errors.value(), 0u);
}

// Of a wire whose other end does not receive: what waits there is not lost.
TEST(TxWatchdogTest, WaitsForAPeerThatTakesNothing) {
  Lab lab(4096);
  Lab far(4096);
  const std::string name = OwnWire("watchdog") + ",bytes=4096";
  Port from = OpenOrDie(name, *lab.pool, kSmall);
  Port to = OpenOrDie(name, *far.pool, kSmall);
  const TxCounters& counters = *from.tx[0].counters();
  const uint32_t sent = SendUntilFull(from.tx[0], lab.lcore);
  ASSERT_GT(from.tx[0].in_flight(), 0u);
  const auto until = Clock::now() + std::chrono::milliseconds(5 * kWatchdogMs);
  ASSERT_TRUE(
      ReapUntil(from.tx[0], lab.lcore, [&] { return Clock::now() >= until; }));
  EXPECT_EQ(counters.errors.value(), 0u);
  // All of it comes once the peer takes it.
  std::vector<FrameBytes> received;
  ASSERT_TRUE(ReapUntil(from.tx[0], lab.lcore, [&] {
    ReceiveInto(to.rx[0], far.lcore, received);
    return received.size() == sent;
  }));
  for (uint32_t i = 0; i < sent; ++i) {
    EXPECT_EQ(received[i], NumberedFrame(1000, i));
  }
}

// A queue that stalls behind a full medium is not taken for one that waits.
TEST(TxWatchdogTest, TellsAStallFromAWaitForThePeer) {
  Lab lab(4096);
  Lab far(4096);
  const std::string name = OwnWire("watchdog-stall") + ",bytes=4096";
  Faulty faulty(name, *lab.pool, kSmall);
  Port to = OpenOrDie(name, *far.pool, kSmall);
  SendUntilFull(faulty.tx(), lab.lcore);
  faulty.Inject("send_stall");
  ASSERT_TRUE(ReapUntil(faulty.tx(), lab.lcore, [&] {
    return faulty.tx().counters()->errors.value() == 1;
  }));
  EXPECT_GT(DropOf(*faulty.port.monitor(), kTx, "stalled"), 0u);
}

// Found as Send makes room, the fault is one fault, and costs nothing but what
// was under way.
TEST(TxWatchdogTest, SendsOnWhereItFindsThatAFullQueueHasFailed) {
  Lab lab(4096);
  Lab far(4096);
  const std::string name = OwnWire("watchdog-full") + ",bytes=4096";
  Faulty faulty(name, *lab.pool, kSmall);
  Port to = OpenOrDie(name, *far.pool, kSmall);
  const TxCounters& counters = *faulty.tx().counters();
  const uint32_t sent = SendUntilFull(faulty.tx(), lab.lcore);
  ASSERT_EQ(faulty.tx().in_flight(), faulty.tx().depth());
  faulty.Inject("qp_error");
  ASSERT_TRUE(SendOne(faulty.tx(), lab.lcore, NumberedFrame(1000, sent)));
  EXPECT_EQ(counters.errors.value(), 1u);
  EXPECT_EQ(counters.recoveries.value(), 1u);
  EXPECT_EQ(counters.refused.value(), 0u);
  EXPECT_EQ(DropOf(*faulty.port.monitor(), kTx, "lost-in-recovery"),
            faulty.tx().depth());
}

}  // namespace
}  // namespace weir
