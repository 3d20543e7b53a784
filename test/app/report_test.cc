#include "weir/app/report.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/app/sample_report.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DroppedLineTest, NamesWhatStagesAndTxQueuesDropped) {
  EXPECT_THAT(DroppedLine(testing::SampleReport()),
              ElementsAre("65 packets were not sent: short 60; too_long 5"));
}

TEST(DroppedLineTest, AddsUpWhatHasTheSameName) {
  AppReport report = testing::SampleReport();
  report.lcores.push_back(report.lcores[0]);
  report.ports.clear();
  EXPECT_THAT(DroppedLine(report),
              ElementsAre("120 packets were not sent: short 120"));
}

TEST(DroppedLineTest, SpeaksOfOne) {
  AppReport report = testing::SampleReport();
  report.lcores.clear();
  report.ports[0].queues[1].drops[0].value = 1;
  EXPECT_THAT(DroppedLine(report),
              ElementsAre("1 packet was not sent: too_long 1"));
}

TEST(DroppedLineTest, HasNothingToSayOfASenderThatSentAll) {
  AppReport report = testing::SampleReport();
  report.lcores.clear();
  // Of an RX queue they are polls.
  report.ports[0].queues[0].drops = {{"pool-dry", 3}};
  report.ports[0].queues[1].drops.clear();
  EXPECT_THAT(DroppedLine(report), IsEmpty());
}

}  // namespace
}  // namespace weir
