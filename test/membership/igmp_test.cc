#include "weir/membership/igmp.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "test/membership/told.h"
#include "test/support/frame.h"
#include "weir/membership/group_records.h"
#include "weir/membership/response_code.h"
#include "weir/net/ip_text.h"

namespace weir {
namespace {

using Kind = GroupMessage<net::Ipv4Address>::Kind;

Bytes Message(std::initializer_list<int> octets) {
  Bytes bytes;
  for (const int octet : octets) bytes.push_back(static_cast<std::byte>(octet));
  return bytes;
}

net::Ipv4Address V4(const char* text) {
  return net::ParseIpv4Address(text).value();
}

// RFC 3376 §7.1.
TEST(Igmp, TellsTheVersionOfAQueryByItsLength) {
  const auto v1 = Igmp::Read(Message({0x11, 0, 0, 0, 0, 0, 0, 0}));
  ASSERT_TRUE(v1.has_value());
  EXPECT_EQ(v1->version, 1);
  EXPECT_EQ(v1->max_response_ns, 10 * kSecond);
  const auto v2 = Igmp::Read(Message({0x11, 25, 0, 0, 233, 252, 0, 5}));
  ASSERT_TRUE(v2.has_value());
  EXPECT_EQ(v2->version, 2);
  EXPECT_EQ(v2->max_response_ns, 2 * kSecond + kSecond / 2);
  EXPECT_EQ(v2->group, V4("233.252.0.5"));
  const auto v3 =
      Igmp::Read(Message({0x11, 10, 0, 0, 0, 0, 0, 0, 0x0b, 125, 0, 0}));
  ASSERT_TRUE(v3.has_value());
  EXPECT_EQ(v3->version, 3);
  EXPECT_EQ(v3->max_response_ns, kSecond);
  EXPECT_EQ(v3->robustness, 3);
  EXPECT_TRUE(v3->is_suppressed);
  EXPECT_EQ(v3->interval_ns, 125 * kSecond);
}

TEST(Igmp, ReadsNoQueryOfAnotherLength) {
  for (const size_t bytes : {7, 9, 10, 11}) {
    Bytes query(bytes);
    query[0] = std::byte{0x11};
    EXPECT_FALSE(Igmp::Read(query).has_value()) << bytes;
  }
  Bytes more(16);
  more[0] = std::byte{0x11};
  EXPECT_TRUE(Igmp::Read(more).has_value());
}

TEST(Igmp, ReadsTheSourcesOfAQuery) {
  const Bytes query = Message({0x11, 10, 0,   0, 233, 252, 0,   5, 2, 125,
                               0,    2,  192, 0, 2,   1,   192, 0, 2, 2});
  const auto read = Igmp::Read(query);
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->sources.size(), 2U);
  EXPECT_EQ(read->sources[1], V4("192.0.2.2"));
  EXPECT_FALSE(
      Igmp::Read(std::span(query).first(query.size() - 1)).has_value());
}

TEST(Igmp, ReadsReportsOfAllVersions) {
  EXPECT_EQ(TextOf<Igmp>(Message({0x12, 0, 0, 0, 233, 252, 0, 5})),
            "v1 report 233.252.0.5");
  EXPECT_EQ(TextOf<Igmp>(Message({0x16, 0, 0, 0, 233, 252, 0, 5})),
            "v2 report 233.252.0.5");
  EXPECT_EQ(TextOf<Igmp>(Message({0x17, 0, 0, 0, 233, 252, 0, 5})),
            "v2 leave 233.252.0.5");
  // The first record has four bytes of auxiliary data.
  EXPECT_EQ(TextOf<Igmp>(Message({0x22, 0, 0, 0, 0,   0,   0, 2,  //
                                  1,    1, 0, 1, 233, 252, 0, 5,  //
                                  192,  0, 2, 1, 9,   9,   9, 9,  //
                                  4,    0, 0, 0, 239, 252, 0, 5})),
            "IS_IN 233.252.0.5 {192.0.2.1}; TO_EX 239.252.0.5 {}");
}

TEST(Igmp, ReadsNoReportWhoseRecordsAreNotAllThere) {
  const Bytes report = Message({0x22, 0, 0, 0, 0,   0,   0, 1,  //
                                1,    0, 0, 1, 233, 252, 0, 5,  //
                                192,  0, 2, 1});
  ASSERT_TRUE(Igmp::Read(report).has_value());
  for (size_t bytes = 0; bytes < report.size(); ++bytes) {
    EXPECT_FALSE(Igmp::Read(std::span(report).first(bytes)).has_value())
        << bytes;
  }
  Bytes more = report;
  more[7] = std::byte{2};
  EXPECT_FALSE(Igmp::Read(more).has_value());
}

TEST(Igmp, ReadsNothingElse) {
  for (const int type : {0, 0x10, 0x13, 0x18, 0x21, 0x23, 0xff}) {
    EXPECT_FALSE(Igmp::Read(Message({type, 0, 0, 0, 0, 0, 0, 0})).has_value())
        << type;
  }
  EXPECT_FALSE(Igmp::Read({}).has_value());
}

// The bytes that Linux 6 sends for the same (RFC 2236 §2, RFC 3376 §4.2).
TEST(Igmp, WritesMessagesWithTheirChecksums) {
  std::array<std::byte, 64> out{};
  size_t size = Igmp::WriteOldReport(out, 2, V4("233.252.0.5"));
  Igmp::Finish(std::span(out).first(size), {});
  EXPECT_EQ(Bytes(out.begin(), out.begin() + 8),
            Message({0x16, 0, 0xff, 0xfd, 233, 252, 0, 5}));
  size = Igmp::WriteLeave(out, V4("233.252.0.5"));
  Igmp::Finish(std::span(out).first(size), {});
  EXPECT_EQ(Bytes(out.begin(), out.begin() + 8),
            Message({0x17, 0, 0xfe, 0xfd, 233, 252, 0, 5}));

  ReportWriter<Igmp> report(out);
  EXPECT_TRUE(report.empty());
  ASSERT_TRUE(report.Begin(RecordType::kToExclude, V4("233.252.0.5"), 0));
  size = report.Finish();
  ASSERT_EQ(size, 16U);
  Igmp::Finish(std::span(out).first(size), {});
  EXPECT_EQ(Bytes(out.begin(), out.begin() + 16),
            Message({0x22, 0, 0xef, 0xfc, 0, 0, 0, 1,  //
                     4, 0, 0, 0, 233, 252, 0, 5}));
}

TEST(Igmp, WritesNoRecordThatThereIsNoRoomFor) {
  std::array<std::byte, 20> out{};
  ReportWriter<Igmp> report(out);
  EXPECT_FALSE(report.Begin(RecordType::kIsInclude, V4("233.252.0.5"), 2));
  EXPECT_TRUE(report.empty());
  ASSERT_TRUE(report.Begin(RecordType::kIsInclude, V4("233.252.0.5"), 1));
  report.AddSource(V4("192.0.2.1"));
  EXPECT_EQ(report.Finish(), 20U);
  EXPECT_EQ(TextOf<Igmp>(out), "IS_IN 233.252.0.5 {192.0.2.1}");
}

// RFC 3376 §4.1.1: 1 eee mmmm is (mmmm | 0x10) << (eee + 3).
TEST(Igmp, ReadsTimesWithAnExponent) {
  EXPECT_EQ(ReadCode8(0x7f), 127U);
  EXPECT_EQ(ReadCode8(0x80), 128U);
  EXPECT_EQ(ReadCode8(0x8f), 248U);
  EXPECT_EQ(ReadCode8(0xff), 31744U);
}

}  // namespace
}  // namespace weir
