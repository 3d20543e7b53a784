// Verdicts over flat bytes, where no packet of mbufs is needed. What the stage
// makes of them is in test/stage/verify_checksums_test.cc.

#include "weir/net/transport_checksum.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "gtest/gtest.h"
#include "test/support/frame.h"
#include "weir/net/address_sum.h"

namespace weir::net {
namespace {

constexpr size_t kIpOffset = 14;
constexpr size_t kPartOffset = kIpOffset + 20;

TransportPart PartOf(const Bytes& frame, ChecksumKind kind) {
  const auto bytes = std::span<const std::byte>(frame);
  return {.kind = kind,
          .is_ipv6 = false,
          .front = bytes.subspan(kPartOffset),
          .length_bytes = static_cast<uint32_t>(frame.size() - kPartOffset),
          .addresses = Ipv4AddressSum(bytes.subspan(kIpOffset, 20))};
}

ChecksumVerdict Judge(const Bytes& frame, ChecksumKind kind) {
  const TransportPart part = PartOf(frame, kind);
  return VerifyChecksum(part, part.front);
}

TEST(TransportChecksumTest, JudgesFlatBytes) {
  Bytes frame =
      Frame().Ipv4("192.0.2.1", "192.0.2.2").Udp(1, 2).Payload(9).Build();
  EXPECT_EQ(Judge(frame, ChecksumKind::kUdp), ChecksumVerdict::kGood);
  frame.back() ^= std::byte{1};
  EXPECT_EQ(Judge(frame, ChecksumKind::kUdp), ChecksumVerdict::kBad);
}

TEST(TransportChecksumTest, KnowsWhichProtocolHasWhich) {
  EXPECT_EQ(ChecksumKindOf(6, false), ChecksumKind::kTcp);
  EXPECT_EQ(ChecksumKindOf(17, true), ChecksumKind::kUdp);
  EXPECT_EQ(ChecksumKindOf(136, true), ChecksumKind::kUdpLite);
  EXPECT_EQ(ChecksumKindOf(132, false), ChecksumKind::kSctp);
  EXPECT_EQ(ChecksumKindOf(1, false), ChecksumKind::kIcmp);
  EXPECT_EQ(ChecksumKindOf(1, true), ChecksumKind::kNone);
  EXPECT_EQ(ChecksumKindOf(58, true), ChecksumKind::kIcmp6);
  EXPECT_EQ(ChecksumKindOf(58, false), ChecksumKind::kNone);
  EXPECT_EQ(ChecksumKindOf(2, false), ChecksumKind::kIgmp);
  EXPECT_EQ(ChecksumKindOf(2, true), ChecksumKind::kNone);
  EXPECT_EQ(ChecksumKindOf(253, true), ChecksumKind::kNone);
}

TEST(TransportChecksumTest, CoversWhatTheHeaderSays) {
  Bytes frame =
      Frame().Ipv4("192.0.2.1", "192.0.2.2").Udp(1, 2).Payload(9).Build();
  EXPECT_EQ(CoveredBytes(PartOf(frame, ChecksumKind::kUdp)), 17u);
  frame[kPartOffset + 5] = std::byte{0};
  EXPECT_EQ(CoveredBytes(PartOf(frame, ChecksumKind::kUdp)), 0u);
  EXPECT_EQ(CoveredBytes(PartOf(frame, ChecksumKind::kUdpLite)), 17u);
  frame[kPartOffset + 5] = std::byte{18};
  EXPECT_EQ(CoveredBytes(PartOf(frame, ChecksumKind::kUdpLite)), 0u);
}

TEST(TransportChecksumTest, ComputesWhatItVerifies) {
  for (const auto kind :
       {ChecksumKind::kTcp, ChecksumKind::kUdp, ChecksumKind::kUdpLite,
        ChecksumKind::kSctp, ChecksumKind::kIcmp, ChecksumKind::kIgmp}) {
    Bytes frame = Frame().Ipv4("192.0.2.1", "192.0.2.2").Payload(40).Build();
    frame[kPartOffset + 4] = std::byte{0};
    frame[kPartOffset + 5] = std::byte{40};
    const auto place = kChecksumPlaces[static_cast<size_t>(kind)];
    const auto at = frame.begin() + kPartOffset + place.offset;
    std::fill_n(at, place.field_bytes, std::byte{0});
    const TransportPart part = PartOf(frame, kind);
    const ChecksumField field = ComputeChecksum(
        part, CoveredBytes(part),
        [&part](size_t offset, size_t bytes, const auto& take) noexcept {
          take(part.front.subspan(offset, bytes));
        });
    std::copy_n(field.begin(), place.field_bytes, at);
    EXPECT_EQ(Judge(frame, kind), ChecksumVerdict::kGood);
  }
}

}  // namespace
}  // namespace weir::net
