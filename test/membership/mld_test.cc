#include "weir/membership/mld.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "test/membership/told.h"
#include "test/support/frame.h"
#include "weir/membership/response_code.h"
#include "weir/net/ip_text.h"

namespace weir {
namespace {

net::Ipv6Address V6(const char* text) {
  return net::ParseIpv6Address(text).value();
}

void Append(Bytes& message, const char* address) {
  for (const uint8_t octet : V6(address).octets) {
    message.push_back(std::byte{octet});
  }
}

// A message with the given first eight bytes.
Bytes Message(std::initializer_list<int> octets) {
  Bytes bytes;
  for (const int octet : octets) bytes.push_back(static_cast<std::byte>(octet));
  return bytes;
}

// RFC 3810 §8.1.
TEST(Mld, TellsTheVersionOfAQueryByItsLength) {
  Bytes query = Message({130, 0, 0, 0, 0x27, 0x10, 0, 0});
  Append(query, "ff3e::8000:5");
  const auto v1 = Mld::Read(query);
  ASSERT_TRUE(v1.has_value());
  EXPECT_EQ(v1->version, 1);
  EXPECT_EQ(v1->max_response_ns, 10 * kSecond);
  EXPECT_EQ(v1->group, V6("ff3e::8000:5"));
  for (int i = 0; i < 3; ++i) {
    query.push_back(std::byte{0});
    EXPECT_FALSE(Mld::Read(query).has_value()) << query.size();
  }
  query.push_back(std::byte{0});
  query[24] = std::byte{2};
  query[25] = std::byte{0x8f};
  const auto v2 = Mld::Read(query);
  ASSERT_TRUE(v2.has_value());
  EXPECT_EQ(v2->version, 2);
  EXPECT_EQ(v2->robustness, 2);
  EXPECT_FALSE(v2->is_suppressed);
  EXPECT_EQ(v2->interval_ns, 248 * kSecond);
  EXPECT_EQ(v2->max_response_ns, 10 * kSecond);
}

TEST(Mld, ReadsTheSourcesOfAQuery) {
  Bytes query = Message({130, 0, 0, 0, 0, 100, 0, 0});
  Append(query, "ff3e::8000:5");
  for (const int octet : {2, 125, 0, 1}) {
    query.push_back(static_cast<std::byte>(octet));
  }
  EXPECT_FALSE(Mld::Read(query).has_value());
  Append(query, "2001:db8::1");
  const auto read = Mld::Read(query);
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->sources.size(), 1U);
  EXPECT_EQ(read->sources[0], V6("2001:db8::1"));
}

TEST(Mld, ReadsReportsOfBothVersions) {
  Bytes report = Message({131, 0, 0, 0, 0, 0, 0, 0});
  Append(report, "ff3e::8000:5");
  EXPECT_EQ(TextOf<Mld>(report), "v1 report ff3e::8000:5");
  report[0] = std::byte{132};
  EXPECT_EQ(TextOf<Mld>(report), "v1 leave ff3e::8000:5");
  Bytes report2 = Message({143, 0, 0, 0, 0, 0, 0, 1, 6, 0, 0, 1});
  Append(report2, "ff3e::8000:5");
  Append(report2, "2001:db8::1");
  EXPECT_EQ(TextOf<Mld>(report2), "BLOCK ff3e::8000:5 {2001:db8::1}");
  for (size_t bytes = 0; bytes < report2.size(); ++bytes) {
    EXPECT_FALSE(Mld::Read(std::span(report2).first(bytes)).has_value())
        << bytes;
  }
  for (size_t bytes = 0; bytes < report.size(); ++bytes) {
    EXPECT_FALSE(Mld::Read(std::span(report).first(bytes)).has_value())
        << bytes;
  }
}

TEST(Mld, ReadsNoOtherIcmp) {
  Bytes echo = Message({128, 0, 0, 0, 0, 1, 0, 1});
  EXPECT_FALSE(Mld::Read(echo).has_value());
}

// RFC 2710 §3; the checksum by hand: pseudo-header of fe80::1, ff3e::8000:5,
// length 24 and protocol 58, then the message.
TEST(Mld, WritesMessagesWithTheirChecksums) {
  std::array<std::byte, 64> out{};
  const size_t size = Mld::WriteOldReport(out, 1, V6("ff3e::8000:5"));
  ASSERT_EQ(size, 24U);
  net::Ipv6Header ip{};
  ip.source = V6("fe80::1");
  ip.destination = V6("ff3e::8000:5");
  Mld::Finish(std::span(out).first(size), ip);
  // fe80+1+ff3e+8000+5+18+3a+8300+ff3e+8000+5 = 48059; 8059+4 = 805d; ~: 7fa2.
  EXPECT_EQ(out[2], std::byte{0x7f});
  EXPECT_EQ(out[3], std::byte{0xa2});
}

// RFC 3810 §5.1.3: 1 eee mmmmmmmmmmmm is (m | 0x1000) << (eee + 3).
TEST(Mld, ReadsTimesWithAnExponent) {
  EXPECT_EQ(ReadCode16(0x7fff), 32767U);
  EXPECT_EQ(ReadCode16(0x8000), 32768U);
  EXPECT_EQ(ReadCode16(0xffff), 8387584U);
}

}  // namespace
}  // namespace weir
