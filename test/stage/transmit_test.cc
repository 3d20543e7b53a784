#include "weir/stage/transmit.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/expect_conserved.h"
#include "test/support/fake_queues.h"
#include "weir/pipeline/pipeline.h"

namespace weir {
namespace {

using testing::ExpectConserved;
using testing::FakeInlet;
using testing::FakeOutlet;
using testing::FakeSink;
using testing::FakeTraffic;
using testing::Lab;
using testing::MakeFrame;
using ::testing::SizeIs;

TEST(TransmitTest, PassesEverythingToItsQueueUnderItsOwnName) {
  Lab lab;
  FakeTraffic traffic;
  FakeSink sink;
  Pipeline forward{FakeInlet(traffic), Transmit{FakeOutlet(sink)}};
  traffic.frames.assign(5, MakeFrame(60, 1));
  sink.room = 3;
  forward.Poll(lab.lcore);
  EXPECT_THAT(sink.frames, SizeIs(3));
  EXPECT_EQ(forward.Snapshot().held(), 2u);
  sink.room = 2;
  sink.flushes_refused = 1;
  EXPECT_FALSE(forward.Drain(lab.lcore));
  EXPECT_TRUE(forward.Drain(lab.lcore));
  EXPECT_EQ(sink.reaps, 3u);
  EXPECT_EQ(forward.Snapshot().stages[1].name, "transmit");
  ExpectConserved(forward.Snapshot(), *lab.pool);
}

}  // namespace
}  // namespace weir
