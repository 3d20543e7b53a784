#include "weir/net/address_prefix.h"

#include <gtest/gtest.h>

#include "weir/net/ip_text.h"

namespace weir::net {
namespace {

Ipv4Address Of(const char* text) { return ParseIpv4Address(text).value(); }
Ipv6Address Of6(const char* text) { return ParseIpv6Address(text).value(); }

TEST(AddressPrefixTest, ContainsWhatBeginsLikeIt) {
  const Ipv4Prefix prefix{Of("239.192.0.0"), 14};
  EXPECT_TRUE(prefix.Contains(Of("239.192.0.0")));
  EXPECT_TRUE(prefix.Contains(Of("239.195.255.255")));
  EXPECT_FALSE(prefix.Contains(Of("239.196.0.0")));
  EXPECT_FALSE(prefix.Contains(Of("238.192.0.0")));
}

TEST(AddressPrefixTest, IsOneAddressUnlessItSaysOtherwise) {
  const Ipv4Prefix one{Of("239.1.2.3")};
  EXPECT_TRUE(one.Contains(Of("239.1.2.3")));
  EXPECT_FALSE(one.Contains(Of("239.1.2.2")));
}

TEST(AddressPrefixTest, OfNoBitsContainsAll) {
  EXPECT_TRUE((Ipv4Prefix{Of("1.2.3.4"), 0}.Contains(Of("255.0.0.9"))));
}

// Against bits taken one by one.
TEST(AddressPrefixTest, ComparesAsManyBitsAsItHas) {
  const Ipv6Address base = Of6("ff3e:1234:5678:9abc:def0:1234:5678:9abc");
  for (unsigned flipped = 0; flipped < 128; ++flipped) {
    Ipv6Address other = base;
    other.octets[flipped / 8] ^= static_cast<uint8_t>(0x80 >> flipped % 8);
    for (unsigned bits = 0; bits <= 128; ++bits) {
      EXPECT_EQ((Ipv6Prefix{base, static_cast<uint8_t>(bits)}.Contains(other)),
                bits <= flipped)
          << bits << " " << flipped;
    }
  }
}

TEST(AddressPrefixTest, BeginsWithAnAddressWithoutOtherBits) {
  EXPECT_EQ((Ipv4Prefix{Of("239.255.2.3"), 14}.First()), Of("239.252.0.0"));
  EXPECT_EQ((Ipv4Prefix{Of("239.1.2.3"), 16}.First()), Of("239.1.0.0"));
  EXPECT_EQ((Ipv4Prefix{Of("239.1.2.3"), 31}.First()), Of("239.1.2.2"));
  EXPECT_EQ((Ipv4Prefix{Of("239.1.2.3")}.First()), Of("239.1.2.3"));
  EXPECT_EQ((Ipv4Prefix{Of("239.1.2.3"), 0}.First()), Of("0.0.0.0"));
  EXPECT_EQ((Ipv6Prefix{Of6("ff3e::8000:1"), 16}.First()), Of6("ff3e::"));
}

}  // namespace
}  // namespace weir::net
