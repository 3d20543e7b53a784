#include "weir/net/fragment_headers.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/frame.h"
#include "weir/net/ipv6_fragment_part.h"

namespace weir::net {
namespace {

using Outcome = FragmentHeaders::Outcome;

Bytes Ipv4Frame() {
  return Frame()
      .Ipv4("192.0.2.1", "198.51.100.2", {.id = 1})
      .Udp(1, 2)
      .Payload(1000)
      .Build();
}

TEST(FragmentHeadersTest, SaysWhatTheNextFragmentWillBe) {
  const Bytes frame = Ipv4Frame();
  FragmentHeaders headers;
  ASSERT_EQ(headers.StartIpv4(frame, 14, 1028, 420), Outcome::kStarted);
  EXPECT_EQ(headers.data_offset(), 34u);
  EXPECT_EQ(headers.data_left(), 1008u);
  EXPECT_EQ(headers.protocol(), 17u);
  EXPECT_EQ(headers.CountUpTo(64), 3u);
  EXPECT_EQ(headers.CountUpTo(2), 2u);
  std::array<std::byte, FragmentHeaders::kMaxHeaderBytes> out;
  for (const uint32_t bytes : {400u, 400u, 208u}) {
    EXPECT_EQ(headers.header_bytes(), 34u);
    EXPECT_EQ(headers.data_bytes(), bytes);
    EXPECT_EQ(headers.is_first(), headers.data_left() == 1008);
    EXPECT_EQ(headers.is_last(), bytes == 208);
    headers.WriteNext(out.data());
    EXPECT_EQ(ReferenceChecksum(std::span(out).subspan(14, 20)), 0);
  }
  EXPECT_EQ(headers.data_left(), 0u);
}

// Fragments of 400 bytes, the last one of up to 406.
TEST(FragmentHeadersTest, ARunEndsBeforeTheLastFragmentAndTheEndOfTheBytes) {
  const Bytes frame = Ipv4Frame();
  FragmentHeaders headers;
  ASSERT_EQ(headers.StartIpv4(frame, 14, 20 + 1204, 426), Outcome::kStarted);
  EXPECT_EQ(headers.CountRun(64, 2000), 2u);
  EXPECT_EQ(headers.CountRun(1, 2000), 1u);
  EXPECT_EQ(headers.CountRun(64, 1204), 2u);
  EXPECT_EQ(headers.CountRun(64, 800), 1u);
  EXPECT_EQ(headers.CountRun(64, 400), 0u);
  std::array<std::byte, FragmentHeaders::kMaxHeaderBytes> out;
  headers.WriteRun(2, [&](uint32_t) { return out.data(); });
  EXPECT_EQ(headers.data_bytes(), 404u);
  EXPECT_EQ(headers.CountRun(64, 402), 0u);
}

TEST(FragmentHeadersTest, ARunIsWhatOneAfterTheOtherIs) {
  FragmentIds ids(1);
  const Bytes four = Ipv4Frame();
  const Bytes six =
      Frame().Ipv6("2001:db8::1", "2001:db8::2").Udp(1, 2).Payload(100).Build();
  for (const bool is_ipv6 : {false, true}) {
    FragmentHeaders run;
    const Outcome outcome = is_ipv6 ? run.StartIpv6(six, 14, 60000, 1280, ids)
                                    : run.StartIpv4(four, 14, 60000, 1280);
    ASSERT_EQ(outcome, Outcome::kStarted);
    FragmentHeaders single = run;
    using Header = std::array<std::byte, FragmentHeaders::kMaxHeaderBytes>;
    std::vector<Header> expected(40);
    std::vector<Header> made(40);
    for (Header& header : expected) single.WriteNext(header.data());
    run.WriteRun(40, [&](uint32_t i) { return made[i].data(); });
    for (size_t i = 0; i < made.size(); ++i) {
      EXPECT_TRUE(std::equal(made[i].begin(),
                             made[i].begin() + run.header_bytes(),
                             expected[i].begin()))
          << i;
    }
    EXPECT_EQ(run.data_left(), single.data_left());
    EXPECT_EQ(run.CountUpTo(64), single.CountUpTo(64));
  }
}

// A list of options that lies about a length: what is behind it is no option.
TEST(FragmentHeadersTest, StopsAtAnOptionWithAWrongLength) {
  for (const int length : {0, 1, 9}) {
    const Bytes frame =
        Frame()
            .Ipv4("192.0.2.1", "198.51.100.2",
                  {.options = MakeBytes({148, 4, 0, 0, 131, length, 4, 0})})
            .Payload(200)
            .Build();
    FragmentHeaders headers;
    ASSERT_EQ(headers.StartIpv4(frame, 14, 228, 100), Outcome::kStarted);
    std::array<std::byte, FragmentHeaders::kMaxHeaderBytes> out;
    headers.WriteNext(out.data());
    EXPECT_EQ(headers.header_bytes(), 14u + 24u) << length;
  }
}

TEST(FragmentHeadersTest, ReadsNothingBeyondTheHead) {
  const Bytes frame = Ipv4Frame();
  FragmentHeaders headers;
  for (size_t bytes = 0; bytes < 34; ++bytes) {
    EXPECT_EQ(headers.StartIpv4(std::span(frame).first(bytes), 14, 1028, 420),
              Outcome::kMalformed);
  }
  const Bytes ipv6 =
      Frame()
          .Ipv6("2001:db8::1", "2001:db8::2", {.next_header = 0})
          .Raw({60, 0, 1, 4, 0, 0, 0, 0})
          .Raw({44, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
          .Raw({17, 0, 0, 0, 1, 2, 3, 4})
          .Payload(100)
          .Build();
  FragmentIds ids(1);
  for (size_t bytes = 0; bytes < 14 + 40 + 32; ++bytes) {
    EXPECT_EQ(
        headers.StartIpv6(std::span(ipv6).first(bytes), 14, 2000, 1280, ids),
        Outcome::kMalformed);
  }
  EXPECT_EQ(headers.StartIpv6(ipv6, 14, 2000, 1280, ids), Outcome::kStarted);
}

// RFC 8200 §4.1 has nodes process extension headers any number of times, and
// what stands behind a Fragment header that says so is whole (RFC 6946).
TEST(Ipv6FragmentPartTest, TheLastFragmentHeaderOfAWholePacketIsTheOne) {
  const Bytes packet = Frame()
                           .Ipv6("2001:db8::1", "2001:db8::2")
                           .Ipv6Fragment({.id = 1, .next_header = 60})
                           .Raw({44, 0, 1, 4, 0, 0, 0, 0})
                           .Ipv6Fragment({.id = 2, .next_header = 17})
                           .Payload(100)
                           .Build();
  const auto part = FindIpv6FragmentPart(std::span(packet).subspan(14));
  ASSERT_TRUE(part);
  EXPECT_EQ(part->offset, 40u + 8 + 8);
  EXPECT_EQ(part->next_header_offset, 40u + 8);
  EXPECT_TRUE(part->has_fragment_header);
  EXPECT_EQ(part->chain_end, 40u + 8 + 8 + 8 + 8);
}

// As Parse.
TEST(Ipv6FragmentPartTest, RefusesAFragmentHeaderInTheDataOfAFragment) {
  const Bytes packet =
      Frame()
          .Ipv6("2001:db8::1", "2001:db8::2")
          .Ipv6Fragment({.id = 1, .more_fragments = true, .next_header = 60})
          .Raw({44, 0, 1, 4, 0, 0, 0, 0})
          .Ipv6Fragment({.id = 2, .next_header = 17})
          .Payload(104)
          .Build();
  EXPECT_FALSE(FindIpv6FragmentPart(std::span(packet).subspan(14)));
}

TEST(Ipv6FragmentPartTest, TheChainEndsWithTheTransportHeader) {
  // TCP with a header of 32 bytes, behind an Authentication Header of 24.
  Bytes tcp(32);
  tcp[12] = std::byte{0x80};
  Bytes ah = MakeBytes({6, 4});
  ah.resize(24);
  const Bytes packet =
      Frame()
          .Ipv6("2001:db8::1", "2001:db8::2", {.next_header = 51})
          .Raw(ah)
          .Raw(tcp)
          .Build();
  const auto part = FindIpv6FragmentPart(std::span(packet).subspan(14));
  ASSERT_TRUE(part);
  EXPECT_EQ(part->offset, 40u);
  EXPECT_EQ(part->next_header_offset, 6u);
  EXPECT_FALSE(part->has_fragment_header);
  EXPECT_EQ(part->chain_end, 40u + 24 + 32);
}

}  // namespace
}  // namespace weir::net
