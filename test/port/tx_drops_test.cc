// What becomes of frames that a port cannot send for long: each is dropped
// under the name of the reason, so that pipelines go on.

#include <cstdint>

#include "gtest/gtest.h"
#include "test/port/faulty_port.h"
#include "test/port/port_lab.h"

namespace weir {
namespace {

using testing::DropOf;
using testing::Faulty;
using testing::Lab;
using testing::NumberedFrame;
using testing::ReapUntil;
using testing::SendOne;

// Without a watchdog.
constexpr PortOptions kSmall = {
    .rx_depth = 64, .tx_depth = 64, .tx_watchdog_ms = 0};
// Of the queues of a monitor: RX queues come first.
constexpr size_t kTx = 1;

uint64_t Drops(const Faulty& faulty, const char* name) {
  return DropOf(*faulty.port.monitor(), kTx, name);
}

// A queue that takes no more, since its device completes nothing.
uint32_t Fill(Faulty& faulty, Lab& lab) {
  faulty.Inject("send_stall");
  uint32_t sent = 0;
  while (SendOne(faulty.tx(), lab.lcore, NumberedFrame(64, sent))) ++sent;
  return sent;
}

TEST(TxDropsTest, DropsWhatFindsTheQueueFullWhileTheLinkIsDown) {
  Lab lab(1024);
  Faulty faulty("null:", *lab.pool, kSmall);
  const uint32_t sent = Fill(faulty, lab);
  EXPECT_EQ(Drops(faulty, "link-down"), 0u);
  faulty.Inject("port_down");
  // As long as nobody has said that it is down, frames wait.
  EXPECT_FALSE(SendOne(faulty.tx(), lab.lcore, NumberedFrame(64, 1)));
  faulty.port.monitor()->CheckState();
  ASSERT_EQ(faulty.port.monitor()->state(), PortState::kDown);
  for (uint32_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(SendOne(faulty.tx(), lab.lcore, NumberedFrame(64, i)));
  }
  EXPECT_EQ(Drops(faulty, "link-down"), 5u);
  EXPECT_EQ(faulty.tx().in_flight(), sent);
  // And up again: what is full is waited for.
  faulty.Inject("port_up");
  faulty.port.monitor()->CheckState();
  EXPECT_FALSE(SendOne(faulty.tx(), lab.lcore, NumberedFrame(64, 1)));
  EXPECT_EQ(Drops(faulty, "link-down"), 5u);
}

TEST(TxDropsTest, DropsWhatIsSentOverAPortThatIsGone) {
  Lab lab(1024);
  Faulty faulty("null:", *lab.pool, kSmall);
  ASSERT_TRUE(SendOne(faulty.tx(), lab.lcore, NumberedFrame(64, 1)));
  faulty.Inject("remove");
  faulty.port.monitor()->CheckState();
  ASSERT_EQ(faulty.port.monitor()->state(), PortState::kGone);
  ASSERT_TRUE(ReapUntil(faulty.tx(), lab.lcore, [&] {
    SendOne(faulty.tx(), lab.lcore, NumberedFrame(64, 2));
    return Drops(faulty, "port-gone") >= 3;
  }));
  EXPECT_EQ(faulty.tx().in_flight(), 0u);
  EXPECT_EQ(Drops(faulty, "queue-broken"), 0u);
}

// Each try to send fails anew: frames wait at first, and not for ever.
TEST(TxDropsTest, DropsWhatFindsTheQueueBrokenForMoreThanASecond) {
  Lab lab(1024);
  Faulty faulty("null:", *lab.pool, kSmall);
  uint32_t waits = 0;
  ASSERT_TRUE(ReapUntil(faulty.tx(), lab.lcore, [&] {
    faulty.Inject("send_error:general");
    if (!SendOne(faulty.tx(), lab.lcore, NumberedFrame(64, 1)) &&
        Drops(faulty, "queue-broken") == 0) {
      ++waits;
    }
    return Drops(faulty, "queue-broken") >= 3;
  }));
  EXPECT_GT(waits, 0u);
  EXPECT_GT(faulty.tx().counters()->recoveries.value(), 2u);
  EXPECT_EQ(faulty.tx().counters()->completions.value(), 0u);
}

}  // namespace
}  // namespace weir
