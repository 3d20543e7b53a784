// A slow second opinion on the checksums of a frame: byte by byte, from the
// RFCs, over one flat piece. Shares nothing with lib/weir but the types it
// answers in.

#ifndef WEIR_TEST_SUPPORT_NAIVE_CHECKSUMS_H_
#define WEIR_TEST_SUPPORT_NAIVE_CHECKSUMS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weir/mbuf/packet_info.h"

namespace weir::testing {

// What a parser would say of a frame whose headers are right: Ethernet with any
// tags, IPv4 or IPv6 with extension headers. l3 is kNone where they are not.
PacketInfo NaiveParse(std::span<const std::byte> frame);

struct NaiveVerdict {
  ChecksumState ip = ChecksumState::kUnknown;
  ChecksumState l4 = ChecksumState::kUnknown;
  // Why strict verification drops it, as VerifyChecksums words it; empty if it
  // does not.
  std::string drop;
};

// Of a frame that NaiveParse understood as `info`.
NaiveVerdict NaiveVerify(std::span<const std::byte> frame,
                         const PacketInfo& info);

// The frame with all its checksums right; that of what IP carries is left alone
// where it cannot be verified.
std::vector<std::byte> NaiveFill(std::span<const std::byte> frame,
                                 const PacketInfo& info);

// CRC32c bit by bit (RFC 9260 appendix A), as the number.
uint32_t NaiveCrc32c(std::span<const std::byte> bytes);

}  // namespace weir::testing

#endif  // WEIR_TEST_SUPPORT_NAIVE_CHECKSUMS_H_
