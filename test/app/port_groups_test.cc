#include "weir/app/port_groups.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/port/port_queues_lab.h"
#include "test/support/fake_queues.h"
#include "test/support/frame.h"
#include "weir/hca_control/hca_control.h"
#include "weir/net/group_address.h"
#include "weir/pipeline/pipeline.h"
#include "weir/port/port_health.h"
#include "weir/stage/parse.h"
#include "weir/stage/transmit_both_ways.h"
#include "weir/verbs/async_events.h"
#include "weir/verbs/device.h"
#include "weir/verbs/soft_hca.h"

namespace weir {
namespace {

// For what takes 50 ms at most.
constexpr std::chrono::seconds kPatience(20);

using testing::FakeOutlet;
using testing::FrameBytes;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

net::IpAddress Ip(const char* text) { return *net::ParseIpAddress(text); }

FrameBytes UdpTo(const char* group, const char* source = "192.0.2.9") {
  return Frame()
      .Eth(MacOf(*ParseGroup(group)), kTestMacA)
      .Ipv4(source, group)
      .Udp(4000, 5000)
      .Payload(40)
      .Build();
}

// Two ends of a wire: a host of groups at one, the test at the other. What the
// monitor says of the link is that of a device of its own.
class PortGroupsTest : public ::testing::Test {
 protected:
  PortGroupsTest() { Make({.max_groups = 2, .max_sources = 4}); }

  void Make(const GroupHostOptions& options) {
    auto igmp = *IgmpHost::Create(
        {.sender = {.mac = wire_.to.mac(),
                    .address = *net::ParseIpv4Address("192.0.2.1")},
         .host = options});
    auto mld = *MldHost::Create({.host = options});
    const std::string name = verbs::AddSoftDevice("null:").value();
    device_ =
        std::make_shared<verbs::Device>(verbs::Device::Open(name).value());
    monitor_ = std::make_shared<PortMonitor>(
        PortInfo{}, device_, std::make_shared<PortHealth>(),
        verbs::AsyncEvents::Create(*device_).value());
    groups_ = *PortGroups::Create(wire_.to.steering(), monitor_,
                                  {.igmp = std::move(igmp.control)});
    pipeline_ = std::make_unique<Host>(
        std::move(wire_.to.rx[0]), Parse(), std::move(igmp.stage),
        std::move(mld.stage),
        TransmitBothWays(FakeOutlet(passed_), std::move(wire_.to.tx[0])));
  }
  void Inject(const char* fault) {
    std::array<char, 256> text{};
    ASSERT_EQ(
        weir_hca_inject(device_->context(), fault, text.data(), text.size()),
        0);
    monitor_->TakeEvents();
    groups_->LookAtLink();
  }
  void Poll() {
    wire_.lab.lcore.UpdateClock();
    for (int i = 0; i < 10; ++i) pipeline_->Poll(wire_.lab.lcore);
  }
  // What came to the other end.
  std::vector<FrameBytes> Said() {
    Poll();
    std::vector<FrameBytes> frames;
    testing::ReceiveInto(wire_.from.rx[0], wire_.lab.lcore, frames);
    return frames;
  }
  // What came there until routers were told of all.
  std::vector<FrameBytes> SaidUntilSettled(const PortGroups& groups) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<FrameBytes> all;
    do {
      const std::vector<FrameBytes> said = Said();
      all.insert(all.end(), said.begin(), said.end());
    } while (!groups.is_settled() &&
             std::chrono::steady_clock::now() - begin < kPatience);
    return all;
  }
  // Joins a group until the lcore, which is not polled, has no room to be
  // asked.
  void FillMailbox() {
    absl::Status joined;
    for (int i = 0; i < 1000 && joined.ok(); ++i) {
      joined = groups_->Join(Ip("233.252.0.5"));
    }
    ASSERT_EQ(joined.code(), absl::StatusCode::kUnavailable);
  }
  std::vector<FrameBytes> Passed(const FrameBytes& frame) {
    EXPECT_TRUE(testing::SendOne(wire_.from.tx[0], wire_.lab.lcore, frame));
    Poll();
    return std::exchange(passed_.frames, {});
  }
  // The type and the group of the only record of a report of IGMPv3.
  static std::string RecordOf(const FrameBytes& frame) {
    EXPECT_EQ(frame.size(), 54u);
    std::string text = "type " + std::to_string(int(frame[46]));
    for (size_t i = 50; i < 54; ++i) {
      text += (i == 50 ? " " : ".") + std::to_string(int(frame[i]));
    }
    return text;
  }

  using Host = Pipeline<RxQueue, Parse, IgmpHost, MldHost,
                        TransmitBothWays<FakeOutlet, TxQueue>>;
  testing::Wire wire_{"groups", 1};
  testing::FakeSink passed_;
  std::shared_ptr<verbs::Device> device_;
  std::shared_ptr<PortMonitor> monitor_;
  std::unique_ptr<PortGroups> groups_;
  std::unique_ptr<Host> pipeline_;
};

TEST_F(PortGroupsTest, JoinsAtTheDeviceAndTellsRouters) {
  EXPECT_THAT(Passed(UdpTo("233.252.0.5")), IsEmpty());
  ASSERT_TRUE(groups_->Join(Ip("233.252.0.5")).ok());
  const JoinedGroup& joined = groups_->joined().at(Ip("233.252.0.5"));
  EXPECT_EQ(NameOf(joined.method), "flow");
  const std::vector<FrameBytes> said = Said();
  ASSERT_THAT(said, SizeIs(1));
  // RFC 3376 §4.2.12: change to exclude nothing.
  EXPECT_EQ(RecordOf(said[0]), "type 4 233.252.0.5");
  EXPECT_THAT(Passed(UdpTo("233.252.0.5")), SizeIs(1));
}

TEST_F(PortGroupsTest, DeliversNoGroupThatSharesTheMac) {
  ASSERT_TRUE(groups_->Join(Ip("233.252.0.5")).ok());
  ASSERT_EQ(MacOf(*ParseGroup("239.124.0.5")),
            MacOf(*ParseGroup("233.252.0.5")));
  EXPECT_THAT(Passed(UdpTo("239.124.0.5")), IsEmpty());
}

TEST_F(PortGroupsTest, FiltersSources) {
  ASSERT_TRUE(groups_
                  ->Join(Ip("233.252.0.5"), {.mode = FilterMode::kInclude,
                                             .sources = {Ip("192.0.2.7")}})
                  .ok());
  EXPECT_THAT(Passed(UdpTo("233.252.0.5", "192.0.2.7")), SizeIs(1));
  EXPECT_THAT(Passed(UdpTo("233.252.0.5", "192.0.2.8")), IsEmpty());
  // Joined again is wanted otherwise.
  ASSERT_TRUE(groups_->Join(Ip("233.252.0.5")).ok());
  EXPECT_THAT(Passed(UdpTo("233.252.0.5", "192.0.2.8")), SizeIs(1));
  EXPECT_THAT(wire_.to.steering()->groups(), SizeIs(2));
}

TEST_F(PortGroupsTest, LeavesInBothPlaces) {
  ASSERT_TRUE(groups_->Join(Ip("233.252.0.5")).ok());
  Said();
  ASSERT_TRUE(groups_->Leave(Ip("233.252.0.5")).ok());
  const std::vector<FrameBytes> said = Said();
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(RecordOf(said[0]), "type 3 233.252.0.5");
  EXPECT_THAT(groups_->joined(), IsEmpty());
  // That of queries is left.
  EXPECT_THAT(wire_.to.steering()->groups(), SizeIs(1));
  EXPECT_THAT(Passed(UdpTo("233.252.0.5")), IsEmpty());
  EXPECT_EQ(groups_->Leave(Ip("233.252.0.5")).code(),
            absl::StatusCode::kNotFound);
}

TEST_F(PortGroupsTest, UndoesAJoinThatTheHostRefuses) {
  ASSERT_TRUE(groups_->Join(Ip("233.252.0.5")).ok());
  ASSERT_TRUE(groups_->Join(Ip("233.252.0.6")).ok());
  const absl::Status third = groups_->Join(Ip("233.252.0.7"));
  EXPECT_EQ(third.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(groups_->joined(), SizeIs(2));
  EXPECT_THAT(wire_.to.steering()->groups(), SizeIs(3));
}

TEST_F(PortGroupsTest, NeedsAHostOfTheFamily) {
  const absl::Status joined = groups_->Join(Ip("ff3e::8000:5"));
  EXPECT_EQ(joined.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(joined.message()), HasSubstr("no address"));
  const absl::Status mixed = groups_->Join(
      Ip("233.252.0.5"),
      {.mode = FilterMode::kInclude, .sources = {Ip("2001:db8::7")}});
  EXPECT_EQ(mixed.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(wire_.to.steering()->groups(), SizeIs(1));
}

TEST_F(PortGroupsTest, SaysAllAgainWhenTheLinkComesUp) {
  ASSERT_TRUE(groups_->Join(Ip("233.252.0.5")).ok());
  EXPECT_THAT(Said(), SizeIs(1));
  Inject("port_down");
  EXPECT_EQ(groups_->refreshes(), 0u);
  Inject("port_up");
  EXPECT_EQ(groups_->refreshes(), 1u);
  const std::vector<FrameBytes> said = Said();
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(RecordOf(said[0]), "type 4 233.252.0.5");
  groups_->LookAtLink();
  EXPECT_EQ(groups_->refreshes(), 1u);
}

TEST_F(PortGroupsTest, IsSettledOnceRoutersWereTold) {
  EXPECT_TRUE(groups_->is_settled());
  ASSERT_TRUE(groups_->Join(Ip("233.252.0.5")).ok());
  EXPECT_FALSE(groups_->is_settled());
  Said();
  EXPECT_TRUE(groups_->is_settled());
  groups_->LeaveAll();
  EXPECT_FALSE(groups_->is_settled());
  // As often as has to be (RFC 3376 §5.1).
  const std::vector<FrameBytes> said = SaidUntilSettled(*groups_);
  ASSERT_THAT(said, SizeIs(2));
  for (const FrameBytes& one : said) {
    EXPECT_EQ(RecordOf(one), "type 3 233.252.0.5");
  }
  EXPECT_TRUE(groups_->is_settled());
  EXPECT_THAT(groups_->joined(), SizeIs(1));
}

TEST_F(PortGroupsTest, NobodyIsToldWhileThereIsNoLink) {
  ASSERT_TRUE(groups_->Join(Ip("233.252.0.5")).ok());
  EXPECT_FALSE(groups_->is_settled());
  Inject("port_down");
  EXPECT_TRUE(groups_->is_settled());
}

TEST_F(PortGroupsTest, WaitsForAnLcoreThatDoesNotFollowNoLongerThanItIsTold) {
  ASSERT_TRUE(groups_->Join(Ip("233.252.0.5")).ok());
  GroupsOfPorts ports;
  int asked = 0;
  groups_->SetGiveWay([&asked] { ++asked; });
  ports["wire"] = std::shared_ptr<PortGroups>(std::move(groups_));
  const auto begin = std::chrono::steady_clock::now();
  LeaveGroups(ports, std::chrono::milliseconds(20));
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, std::chrono::milliseconds(20));
  EXPECT_FALSE(ports["wire"]->is_settled());
  EXPECT_EQ(asked, 1);
  SaidUntilSettled(*ports["wire"]);
  EXPECT_TRUE(ports["wire"]->is_settled());
}

TEST_F(PortGroupsTest, AsksAgainToLeaveOnceThereIsRoomToBeAsked) {
  FillMailbox();
  groups_->LeaveAll();
  EXPECT_THAT(Said(), SizeIs(1));
  EXPECT_FALSE(groups_->is_settled());
  groups_->LeaveRest();
  const std::vector<FrameBytes> said = SaidUntilSettled(*groups_);
  ASSERT_THAT(said, SizeIs(2));
  for (const FrameBytes& one : said) {
    EXPECT_EQ(RecordOf(one), "type 3 233.252.0.5");
  }
  EXPECT_TRUE(groups_->is_settled());
  // It was asked once.
  groups_->LeaveRest();
  EXPECT_TRUE(groups_->is_settled());
}

TEST_F(PortGroupsTest, LeavesByAnLcoreThatFollowsLate) {
  FillMailbox();
  GroupsOfPorts ports;
  std::vector<FrameBytes> said;
  std::jthread lcore;
  groups_->SetGiveWay([this, &lcore, &said] {
    lcore = std::jthread([this, &said](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        const std::vector<FrameBytes> more = Said();
        said.insert(said.end(), more.begin(), more.end());
      }
    });
  });
  ports["wire"] = std::shared_ptr<PortGroups>(std::move(groups_));
  LeaveGroups(ports, std::chrono::seconds(2));
  EXPECT_TRUE(ports["wire"]->is_settled());
  lcore = {};
  // Behind what is said of the joins, if the lcore gets to it in between.
  ASSERT_THAT(said, SizeIs(Ge(2u)));
  for (size_t i = said.size() - 2; i < said.size(); ++i) {
    EXPECT_EQ(RecordOf(said[i]), "type 3 233.252.0.5");
  }
}

}  // namespace
}  // namespace weir
