// What stages tell the senders of packets, taken apart.

#ifndef WEIR_TEST_STAGE_ICMP_ANSWER_H_
#define WEIR_TEST_STAGE_ICMP_ANSWER_H_

#include <cstddef>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/frame.h"
#include "test/support/naive_fragments.h"

namespace weir::testing {

// `size` bytes of `bytes` from `begin` on, which there are.
inline Bytes Part(const Bytes& bytes, size_t begin, size_t size) {
  const auto at = bytes.begin() + static_cast<ptrdiff_t>(begin);
  return {at, at + static_cast<ptrdiff_t>(size)};
}

// Expects that `frame` is an ICMPv6 error to the sender of `packet`,
// a frame of more than the 1280 bytes that errors have at most: with type and
// code, four bytes behind the checksum, and as much of the packet as fits (RFC
// 4443 §3).
inline void ExpectIcmpv6Answer(const Bytes& frame, const Bytes& packet,
                               const Bytes& type_and_code,
                               const Bytes& four_bytes) {
  ASSERT_THAT(frame, ::testing::SizeIs(14 + 1280));
  const NaivePacket answer = TakeApart(frame);
  EXPECT_EQ(answer.fault, "");
  EXPECT_EQ(answer.headers[6], std::byte{58});
  // Source and destination of the packet.
  EXPECT_EQ(Part(answer.headers, 8, 16), Part(packet, 14 + 24, 16));
  EXPECT_EQ(Part(answer.headers, 24, 16), Part(packet, 14 + 8, 16));
  EXPECT_EQ(Part(answer.data, 0, 2), type_and_code);
  EXPECT_EQ(Part(answer.data, 4, 4), four_bytes);
  EXPECT_EQ(Part(answer.data, 8, 1232), Part(packet, 14, 1232));
  // RFC 8200 §8.1: addresses, length, next header.
  Bytes covered = Part(answer.headers, 8, 32);
  const Bytes rest = MakeBytes({0, 0, 1240 >> 8, 1240 & 255, 0, 0, 0, 58});
  covered.insert(covered.end(), rest.begin(), rest.end());
  covered.insert(covered.end(), answer.data.begin(), answer.data.end());
  EXPECT_EQ(ReferenceChecksum(covered), 0);
}

}  // namespace weir::testing

#endif  // WEIR_TEST_STAGE_ICMP_ANSWER_H_
