#include "weir/net/mac_address.h"

#include <optional>

#include "gtest/gtest.h"

namespace weir::net {
namespace {

constexpr MacAddress kExample{{0x02, 0x1a, 0xff, 0x00, 0x9b, 0xc3}};

TEST(MacAddressTest, PrintsSixPairsOfLowerCaseDigits) {
  EXPECT_EQ(ToString(kExample), "02:1a:ff:00:9b:c3");
  EXPECT_EQ(ToString(kBroadcast), "ff:ff:ff:ff:ff:ff");
}

TEST(MacAddressTest, ParsesWhatItPrintsInEitherCase) {
  EXPECT_EQ(ParseMacAddress("02:1a:ff:00:9b:c3"), kExample);
  EXPECT_EQ(ParseMacAddress("02:1A:FF:00:9B:C3"), kExample);
  EXPECT_EQ(ParseMacAddress(ToString(kBroadcast)), kBroadcast);
}

TEST(MacAddressTest, RefusesAnythingElse) {
  for (const char* text :
       {"", "02:1a:ff:00:9b", "02:1a:ff:00:9b:c3:", "02:1a:ff:00:9b:c",
        "02-1a-ff-00-9b-c3", "02:1a:ff:00:9b:cg", "02:1a:ff:00:9b: c",
        "021a:ff:00:9b:c31", "0x:1a:ff:00:9b:c3", " 2:1a:ff:00:9b:c3",
        "02:1a:ff:00:9b:c3 ", "021aff009bc3"}) {
    EXPECT_EQ(ParseMacAddress(text), std::nullopt) << text;
  }
}

TEST(MacAddressTest, TheLowestBitOfTheFirstOctetMeansAGroup) {
  EXPECT_FALSE(kExample.is_multicast());
  EXPECT_TRUE(kBroadcast.is_multicast());
  EXPECT_TRUE((MacAddress{{0x01, 0, 0x5e, 0, 0, 1}}).is_multicast());
  EXPECT_FALSE((MacAddress{{0x00, 0x01, 0, 0, 0, 0}}).is_multicast());
}

TEST(MacAddressTest, OrdersByOctets) {
  EXPECT_LT(kExample, kBroadcast);
  EXPECT_EQ(kExample, (MacAddress{{0x02, 0x1a, 0xff, 0x00, 0x9b, 0xc3}}));
}

}  // namespace
}  // namespace weir::net
