// When a control thread knows that what it asked for was said.

#include "weir/membership/group_requests.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "test/membership/told.h"
#include "weir/membership/group_message.h"
#include "weir/membership/igmp.h"
#include "weir/net/ip_text.h"

namespace weir {
namespace {

constexpr char kGroup[] = "233.252.0.5";
constexpr char kOther[] = "239.252.0.5";

net::Ipv4Address Of(const char* text) {
  return net::ParseIpv4Address(text).value();
}

class GroupRequestsTest : public ::testing::Test {
 protected:
  using Ends = std::pair<GroupControl<Igmp>, RequestedHost<Igmp>>;

  GroupControl<Igmp>& control() { return ends_.first; }
  RequestedHost<Igmp>& host() { return ends_.second; }

  // A poll that has room for `room` messages, and asks for more only if there
  // is some left. Returns how many were said.
  int Poll(int room) {
    int said = 0;
    if (!host().Tick(now_ns_)) return said;
    std::array<std::byte, 1200> out;
    while (said < room && host().Take(out, now_ns_)) ++said;
    return said;
  }
  void Hear(uint8_t version) {
    host().host().OnMessage(
        {.kind = GroupMessage<net::Ipv4Address>::Kind::kQuery,
         .version = version,
         .max_response_ns = kSecond},
        now_ns_);
  }

  uint64_t now_ns_ = 1000 * kSecond;

 private:
  Ends ends_ = MakeRequestedHost<Igmp>({});
};

TEST_F(GroupRequestsTest, IsSettledOnceAllWasSaid) {
  EXPECT_TRUE(control().is_settled());
  ASSERT_TRUE(control().Join(Of(kGroup)).ok());
  EXPECT_FALSE(control().is_settled());
  EXPECT_EQ(Poll(8), 1);
  EXPECT_TRUE(control().is_settled());
}

// Of 224.0.0.1 nothing is ever said (RFC 3376 §5).
TEST_F(GroupRequestsTest, IsSettledAtOnceIfThereIsNothingToSay) {
  ASSERT_TRUE(control().Join(Of("224.0.0.1")).ok());
  EXPECT_FALSE(control().is_settled());
  EXPECT_EQ(Poll(8), 0);
  EXPECT_TRUE(control().is_settled());
}

TEST_F(GroupRequestsTest, IsSettledByThePollBehindOneThatHadNoMoreRoom) {
  Hear(2);
  ASSERT_TRUE(control().Join(Of(kGroup)).ok());
  ASSERT_TRUE(control().Join(Of(kOther)).ok());
  EXPECT_EQ(Poll(1), 1);
  EXPECT_EQ(Poll(1), 1);
  EXPECT_FALSE(control().is_settled());
  EXPECT_EQ(Poll(1), 0);
  EXPECT_TRUE(control().is_settled());
}

// RFC 3376 §7.2.1: what was to be said again is forgotten then.
TEST_F(GroupRequestsTest, IsSettledIfAnOlderRouterComesWhileAllIsLeft) {
  ASSERT_TRUE(control().Join(Of(kGroup)).ok());
  EXPECT_EQ(Poll(8), 1);
  ASSERT_TRUE(control().LeaveAll().ok());
  EXPECT_EQ(Poll(8), 1);
  EXPECT_FALSE(control().is_settled());
  Hear(2);
  EXPECT_EQ(Poll(8), 0);
  EXPECT_TRUE(control().is_settled());
}

}  // namespace
}  // namespace weir
