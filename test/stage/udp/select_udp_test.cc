#include "weir/stage/udp/select_udp.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/fake_queues.h"
#include "test/support/frame.h"
#include "test/support/stage_rig.h"
#include "weir/stage/parse.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using testing::FrameBytes;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Parse and the stage, as one: what it looks at has to be found first.
class Parsed {
 public:
  using Drop = SelectUdp::Drop;
  static constexpr absl::string_view kName = SelectUdp::kName;
  static constexpr auto kDropNames = SelectUdp::kDropNames;

  Parsed(SelectUdp stage, bool answers)
      : stage_(std::move(stage)), answers_(answers) {}
  Verdict OnPacket(Mbuf& packet, Lcore& lcore) noexcept {
    EXPECT_TRUE(parse_.OnPacket(packet, lcore).is_pass());
    if (answers_) packet.info().flags |= PacketInfo::kAnswer;
    return stage_.OnPacket(packet, lcore);
  }

 private:
  Parse parse_;
  SelectUdp stage_;
  bool answers_;
};

class SelectUdpTest : public ::testing::Test {
 protected:
  static Frame To(const char* group) {
    return Frame().Ipv4("192.0.2.1", group);
  }
  static FrameBytes Udp(const char* group, uint16_t port, size_t bytes = 40) {
    return To(group).Udp(4000, port).Payload(bytes).Build();
  }
  static FrameBytes Udp6(const char* group, size_t bytes) {
    return Frame()
        .Ipv6("2001:db8::1", group)
        .Udp(4000, 5000)
        .Payload(bytes)
        .Build();
  }
  void ExpectDrop(const FrameBytes& frame, absl::string_view reason) {
    const uint64_t before = rig_.drops(reason);
    EXPECT_THAT(rig_.Run({frame}), IsEmpty()) << reason;
    EXPECT_EQ(rig_.drops(reason), before + 1) << reason;
    EXPECT_THAT(counts_->rows(), IsEmpty());
  }
  // "group datagrams bytes" a row.
  std::vector<std::string> Rows() const {
    std::vector<std::string> rows;
    for (const GroupCount& row : counts_->rows()) {
      rows.push_back(net::ToString(row.group) + " " +
                     std::to_string(row.datagrams) + " " +
                     std::to_string(row.bytes));
    }
    return rows;
  }

  std::shared_ptr<GroupCounts> counts_ = std::make_shared<GroupCounts>();
  testing::StageRig<Parsed> rig_{Parsed(SelectUdp(5000, counts_), false)};
};

TEST_F(SelectUdpTest, LetsDatagramsOfThePortPass) {
  const FrameBytes frame = Udp("233.252.0.5", 5000);
  EXPECT_THAT(rig_.Run({frame}), ElementsAre(frame));
}

TEST_F(SelectUdpTest, DropsAllElseByName) {
  ExpectDrop(Udp("233.252.0.5", 5001), "another UDP port");
  ExpectDrop(Udp("192.0.2.9", 5000), "not to a group");
  ExpectDrop(Udp6("2001:db8::9", 40), "not to a group");
  ExpectDrop(Frame().Eth(kTestMacA, kTestMacB, 0x88b5).Payload(50).Build(),
             "not IP");
  ExpectDrop(To("233.252.0.5").Tcp(4000, 5000).Payload(8).Build(), "not UDP");
  ExpectDrop(Frame()
                 .Ipv4("192.0.2.1", "233.252.0.5",
                       {.more_fragments = true, .protocol = 17})
                 .Payload(64)
                 .Build(),
             "fragment");
}

TEST_F(SelectUdpTest, CountsPayloadByGroup) {
  rig_.Run({Udp("233.252.0.5", 5000, 1), Udp("233.252.0.6", 5000, 10),
            Udp("233.252.0.5", 5000, 2), Udp6("ff3e::5", 100),
            Udp6("ff3e::5", 0)});
  EXPECT_THAT(Rows(), ElementsAre("233.252.0.5 2 3", "233.252.0.6 1 10",
                                  "ff3e::5 2 100"));
}

TEST_F(SelectUdpTest, LetsAnswersPassUncounted) {
  testing::StageRig<Parsed> rig{Parsed(SelectUdp(5000, counts_), true)};
  const FrameBytes answer = Udp("192.0.2.9", 1);
  EXPECT_THAT(rig.Run({answer}), ElementsAre(answer));
  EXPECT_THAT(Rows(), IsEmpty());
}

TEST(GroupCountsTest, HasRowsForSoManyGroupsAndCountsTheRest) {
  GroupCounts counts;
  const auto group = [](uint32_t number) {
    return net::Ipv4Address{{232, 0, static_cast<uint8_t>(number >> 8),
                             static_cast<uint8_t>(number)}};
  };
  for (int round = 0; round < 2; ++round) {
    for (uint32_t i = 0; i < GroupCounts::kMaxRows + 3; ++i) {
      counts.Add(group(i), i);
    }
  }
  const std::vector<GroupCount> rows = counts.rows();
  ASSERT_THAT(rows, SizeIs(GroupCounts::kMaxRows));
  for (uint32_t i = 0; i < GroupCounts::kMaxRows; ++i) {
    EXPECT_EQ(rows[i].group, net::IpAddress(group(i)));
    EXPECT_EQ(rows[i].datagrams, 2u);
    EXPECT_EQ(rows[i].bytes, 2u * i);
  }
  EXPECT_EQ(counts.others(), 6u);
}

}  // namespace
}  // namespace weir
