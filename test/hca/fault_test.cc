#include "weir/hca/fault.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::hca {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using Direction = FaultSchedule::Direction;
using Kind = Fault::Kind;

std::vector<ScheduledFault> Parse(const std::string& list) {
  const auto parsed =
      ParseFaults(ParseDeviceKey("null:,fault=" + list).value());
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.value_or(std::vector<ScheduledFault>{});
}

std::string ErrorOf(const std::string& list) {
  return std::string(ParseFaults(ParseDeviceKey("null:,fault=" + list).value())
                         .status()
                         .message());
}

FaultSchedule Schedule(const std::string& list) {
  FaultSchedule schedule;
  for (const ScheduledFault& fault : Parse(list)) schedule.Add(fault);
  return schedule;
}

TEST(FaultTest, TakesAList) {
  const auto faults = Parse("send_error@1000+port_down@100:50ms+remove@5000");
  ASSERT_THAT(faults, SizeIs(3));
  EXPECT_EQ(faults[0].fault.kind, Kind::kSendError);
  EXPECT_EQ(faults[0].at_frame, 1000u);
  EXPECT_EQ(faults[0].fault.status, IBV_WC_LOC_QP_OP_ERR);
  EXPECT_EQ(faults[1].fault.kind, Kind::kPortDown);
  EXPECT_EQ(faults[1].fault.duration_ns, 50'000'000u);
  EXPECT_EQ(faults[2].fault.kind, Kind::kRemove);
  EXPECT_EQ(faults[2].at_frame, 5000u);
}

TEST(FaultTest, TakesStatuses) {
  EXPECT_EQ(Parse("send_error@1:general")[0].fault.status, IBV_WC_GENERAL_ERR);
  EXPECT_EQ(Parse("recv_error@1:loc_len")[0].fault.status, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(Parse("recv_error@1")[0].fault.status, IBV_WC_LOC_PROT_ERR);
}

TEST(FaultTest, IsEmptyWithoutTheOption) {
  EXPECT_THAT(ParseFaults(ParseDeviceKey("null:").value()).value(), SizeIs(0));
}

TEST(FaultTest, SaysWhatIsWrong) {
  EXPECT_EQ(ErrorOf("explode@3"),
            "null:,fault=explode@3: fault: \"explode\": want send_error, "
            "recv_error, qp_error, cq_overrun, port_down, port_up, remove or "
            "send_stall");
  for (const std::string bad : {"remove", "remove@", "remove@0", "remove@x",
                                "remove@-1", "port_down:1ms@3", "@3"}) {
    EXPECT_THAT(ErrorOf(bad), HasSubstr(": want ")) << bad;
  }
  EXPECT_THAT(ErrorOf("send_error@3:bad"),
              HasSubstr("want one of loc_len, loc_qp_op"));
  EXPECT_THAT(ErrorOf("port_down@3:soon"), HasSubstr("want a time"));
  EXPECT_THAT(ErrorOf("remove@3:now"), HasSubstr("want nothing behind"));
  EXPECT_THAT(ErrorOf("remove@3+"), HasSubstr("\"\": want NAME@N"));
}

TEST(FaultScheduleTest, CountsFramesThatAreSentForAStall) {
  FaultSchedule schedule = Schedule("send_stall@10:5ms");
  EXPECT_EQ(schedule.Room(Direction::kReceive, {.received = 50, .sent = 9}, 64),
            64u);
  EXPECT_EQ(schedule.Room(Direction::kSend, {.received = 50, .sent = 3}, 64),
            6u);
  EXPECT_FALSE(schedule.TakeDue({.received = 50, .sent = 8}).has_value());
  const auto due = schedule.TakeDue({.received = 0, .sent = 9});
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(due->fault.kind, Kind::kSendStall);
  EXPECT_EQ(due->fault.duration_ns, 5'000'000u);
}

TEST(FaultScheduleTest, LetsFramesGoUpToTheFault) {
  const FaultSchedule schedule = Schedule("send_error@100");
  EXPECT_EQ(schedule.Room(Direction::kSend, {.received = 0, .sent = 0}, 64),
            64u);
  EXPECT_EQ(schedule.Room(Direction::kSend, {.received = 0, .sent = 90}, 64),
            9u);
  EXPECT_EQ(schedule.Room(Direction::kSend, {.received = 0, .sent = 99}, 64),
            0u);
  EXPECT_EQ(
      schedule.Room(Direction::kReceive, {.received = 500, .sent = 99}, 64),
      64u);
}

TEST(FaultScheduleTest, CountsBothDirectionsWhereBothMatter) {
  const FaultSchedule schedule = Schedule("remove@100");
  for (const Direction direction : {Direction::kSend, Direction::kReceive}) {
    EXPECT_EQ(schedule.Room(direction, {.received = 50, .sent = 44}, 64), 5u);
  }
}

TEST(FaultScheduleTest, GivesEachFaultOnceWhenItIsDue) {
  FaultSchedule schedule = Schedule("qp_error@20+recv_error@10+qp_error@20");
  EXPECT_FALSE(schedule.TakeDue({.received = 18, .sent = 0}).has_value());
  EXPECT_TRUE(
      schedule.TakeDueReceiveError({.received = 9, .sent = 0}).has_value());
  EXPECT_FALSE(
      schedule.TakeDueReceiveError({.received = 9, .sent = 0}).has_value());
  EXPECT_TRUE(schedule.TakeDue({.received = 19, .sent = 0}).has_value());
  EXPECT_TRUE(schedule.TakeDue({.received = 19, .sent = 0}).has_value());
  EXPECT_FALSE(schedule.TakeDue({.received = 19, .sent = 0}).has_value());
}

}  // namespace
}  // namespace weir::hca
