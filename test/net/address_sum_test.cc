// Expected are the two addresses that the RFC of each header names, summed
// word by word.

#include "weir/net/address_sum.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include "gtest/gtest.h"
#include "test/support/frame.h"

namespace weir::net {
namespace {

constexpr size_t kIpOffset = 14;

const Bytes kSource6 =
    MakeBytes({0x20, 1, 0xd, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11});
const Bytes kHop6 =
    MakeBytes({0x20, 1, 0xd, 0xb8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x22});
const Bytes kFinal6 =
    MakeBytes({0x20, 1, 0xd, 0xb8, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0x44, 0x33});
const Bytes kOther6 =
    MakeBytes({0x20, 1, 0xd, 0xb8, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x99});

Bytes Join(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts)
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

// The headers from IPv6's on: from kSource6 to kHop6, then `extensions`, the
// first of which is of type `next`.
std::optional<uint16_t> SumBehind(uint8_t next, const Bytes& extensions) {
  const Bytes frame =
      Frame()
          .Ipv6("2001:db8:1::11", "2001:db8:2::22", {.next_header = next})
          .Raw(extensions)
          .Build();
  const auto sum = Ipv6AddressSum(std::span(frame).subspan(kIpOffset));
  if (!sum.has_value()) return std::nullopt;
  return sum->Checksum().host();
}

uint16_t SumOf(const Bytes& a, const Bytes& b) {
  return ReferenceChecksum(Join({a, b}));
}

uint16_t Ipv4Sum(const Bytes& options) {
  const Bytes frame =
      Frame().Ipv4("192.0.2.1", "192.0.2.2", {.options = options}).Build();
  return Ipv4AddressSum(std::span(frame).subspan(kIpOffset)).Checksum().host();
}

const uint16_t kPlain4 =
    ReferenceChecksum(MakeBytes({192, 0, 2, 1, 192, 0, 2, 2}));
// To 203.0.113.9.
const uint16_t kRouted4 =
    ReferenceChecksum(MakeBytes({192, 0, 2, 1, 203, 0, 113, 9}));

TEST(Ipv4AddressSumTest, IsOfTheAddressesInTheHeader) {
  EXPECT_EQ(Ipv4Sum({}), kPlain4);
  EXPECT_EQ(Ipv4Sum(MakeBytes({1, 1, 1, 0})), kPlain4);
  // Router alert (RFC 2113).
  EXPECT_EQ(Ipv4Sum(MakeBytes({148, 4, 0, 0})), kPlain4);
}

// RFC 791 §3.1: the pointer counts from 1 and goes beyond the route at its end.
TEST(Ipv4AddressSumTest, GoesToTheEndOfASourceRoute) {
  for (const int type : {131, 137}) {
    EXPECT_EQ(Ipv4Sum(MakeBytes({type, 7, 4, 203, 0, 113, 9, 0})), kRouted4);
    EXPECT_EQ(Ipv4Sum(MakeBytes({1, type, 11, 8, 10, 0, 0, 1, 203, 0, 113, 9})),
              kRouted4);
    // Used up.
    EXPECT_EQ(Ipv4Sum(MakeBytes({type, 7, 8, 203, 0, 113, 9, 0})), kPlain4);
  }
}

TEST(Ipv4AddressSumTest, TakesOptionsThatContradictThemselves) {
  EXPECT_EQ(Ipv4Sum(MakeBytes({131, 6, 4, 203, 0, 113, 9, 0})), kPlain4);
  EXPECT_EQ(Ipv4Sum(MakeBytes({131, 3, 4, 0})), kPlain4);
  EXPECT_EQ(Ipv4Sum(MakeBytes({131, 9, 4, 203, 0, 113, 9, 0})), kPlain4);
  EXPECT_EQ(Ipv4Sum(MakeBytes({7, 0, 131, 7})), kPlain4);
  EXPECT_EQ(Ipv4Sum(MakeBytes({1, 1, 1, 131})), kPlain4);
  // Behind the end of options.
  EXPECT_EQ(Ipv4Sum(MakeBytes({0, 131, 7, 4, 203, 0, 113, 9})), kPlain4);
}

TEST(Ipv6AddressSumTest, IsOfTheAddressesInTheHeader) {
  EXPECT_EQ(SumBehind(17, {}), SumOf(kSource6, kHop6));
  // Hop-by-hop options, a fragment header (RFC 6946), an authentication header
  // of 12 and 4 bytes (RFC 4302 §2.2).
  EXPECT_EQ(SumBehind(0, MakeBytes({44, 0, 1, 4, 0, 0,  0, 0, 51, 77, 0,
                                    0,  1, 2, 3, 4, 17, 2, 0, 0,  0,  0,
                                    0,  1, 0, 0, 0, 2,  5, 6, 7,  8})),
            SumOf(kSource6, kHop6));
}

TEST(Ipv6AddressSumTest, HasTheDestinationInTheHeaderAtTheEnd) {
  const Bytes arrived = Join({MakeBytes({17, 2, 0, 0, 0, 0, 0, 0}), kFinal6});
  EXPECT_EQ(SumBehind(43, arrived), SumOf(kSource6, kHop6));
  // Of any type: nothing is left to do.
  Bytes unknown = arrived;
  unknown[2] = std::byte{200};
  EXPECT_EQ(SumBehind(43, unknown), SumOf(kSource6, kHop6));
}

// RFC 2460 §4.4: the last address of the list.
TEST(Ipv6AddressSumTest, GoesToTheLastAddressOfType0) {
  EXPECT_EQ(SumBehind(43, Join({MakeBytes({17, 4, 0, 2, 0, 0, 0, 0}), kOther6,
                                kFinal6})),
            SumOf(kSource6, kFinal6));
}

// RFC 6275 §6.4.1: one home address.
TEST(Ipv6AddressSumTest, GoesToTheHomeAddressOfType2) {
  EXPECT_EQ(
      SumBehind(43, Join({MakeBytes({17, 2, 2, 1, 0, 0, 0, 0}), kFinal6})),
      SumOf(kSource6, kFinal6));
}

// RFC 8754 §2: the list is in reverse.
TEST(Ipv6AddressSumTest, GoesToTheFirstSegmentOfType4) {
  EXPECT_EQ(SumBehind(43, Join({MakeBytes({17, 4, 4, 1, 1, 0, 0, 0}), kFinal6,
                                kOther6})),
            SumOf(kSource6, kFinal6));
}

// RFC 6554 §3: addresses without the octets that they share with the
// destination: here 14 of the first one's and 12 of the last one's, and two
// bytes of padding.
TEST(Ipv6AddressSumTest, GoesToTheLastAddressOfType3) {
  Bytes final6 = kHop6;
  const Bytes tail = MakeBytes({0xde, 0xad, 0xbe, 0xef});
  std::copy(tail.begin(), tail.end(), final6.begin() + 12);
  EXPECT_EQ(
      SumBehind(43, Join({MakeBytes({17, 1, 3, 2, 0xec, 0x20, 0, 0}),
                          MakeBytes({0x12, 0x34}), tail, MakeBytes({0, 0})})),
      SumOf(kSource6, final6));
}

// RFC 6275 §6.3 and §11.3.1.
TEST(Ipv6AddressSumTest, HasItsSourceFromAHomeAddressOption) {
  EXPECT_EQ(
      SumBehind(60, Join({MakeBytes({17, 2, 1, 2, 0, 0, 201, 16}), kOther6})),
      SumOf(kOther6, kHop6));
}

TEST(Ipv6AddressSumTest, IsUnknownBehindARouteThatIsNotUnderstood) {
  // A type without meaning; lists that are too short, no multiple of addresses,
  // and shorter than what is left.
  EXPECT_EQ(
      SumBehind(43, Join({MakeBytes({17, 2, 99, 1, 0, 0, 0, 0}), kFinal6})),
      std::nullopt);
  EXPECT_EQ(SumBehind(43, MakeBytes({17, 0, 0, 1, 0, 0, 0, 0})), std::nullopt);
  EXPECT_EQ(SumBehind(43, MakeBytes({17, 0, 4, 1, 0, 0, 0, 0})), std::nullopt);
  EXPECT_EQ(SumBehind(43, Join({MakeBytes({17, 3, 0, 1, 0, 0, 0, 0}), kFinal6,
                                Bytes(8)})),
            std::nullopt);
  EXPECT_EQ(
      SumBehind(43, Join({MakeBytes({17, 2, 0, 2, 0, 0, 0, 0}), kFinal6})),
      std::nullopt);
  EXPECT_EQ(SumBehind(43, MakeBytes({17, 0, 3, 1, 0, 0, 0, 0})), std::nullopt);
  EXPECT_EQ(SumBehind(43, MakeBytes({17, 1, 3, 1, 0xdc, 0, 0, 0, 1, 2, 3, 4, 5,
                                     6, 7, 8})),
            std::nullopt);
}

TEST(Ipv6AddressSumTest, IsUnknownWhereHeadersAreCut) {
  EXPECT_EQ(SumBehind(60, MakeBytes({17, 1, 1, 4, 0, 0, 0, 0})), std::nullopt);
  EXPECT_EQ(SumBehind(60, MakeBytes({17, 0, 1, 4})), std::nullopt);
}

TEST(Ipv6AddressSumTest, ReadsNoOptionBehindItsHeader) {
  // The length of the option goes beyond the header.
  EXPECT_EQ(SumBehind(60, MakeBytes({17, 0, 201, 16, 1, 2, 3, 4})),
            SumOf(kSource6, kHop6));
  EXPECT_EQ(SumBehind(60, MakeBytes({17, 0, 0, 0, 0, 0, 0, 201})),
            SumOf(kSource6, kHop6));
}

}  // namespace
}  // namespace weir::net
