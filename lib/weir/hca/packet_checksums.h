// Checksums as the checksum engine of a NIC sees them: those of IPv4 headers,
// TCP and UDP, computed for frames to send and verified in received ones.

#ifndef WEIR_HCA_PACKET_CHECKSUMS_H_
#define WEIR_HCA_PACKET_CHECKSUMS_H_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::hca {

// What is looked at of a frame to send: a checksum whose field ends later is
// left as it is. Enough for two tags, IPv6 with 160 bytes of options, and TCP.
inline constexpr size_t kMaxChecksummedHeaderBytes = 256;

// The beginning of a frame with its checksums filled in.
struct FinishedHeaders {
  // How many bytes replace the first ones of the frame; 0: there was nothing to
  // fill in.
  size_t bytes = 0;
  // IPv4, with all of its checksums filled in.
  bool all_of_ipv4 = false;
};

// Fills in the checksums of the frame whose bytes are those of `segments`,
// `length_bytes` in all, in a copy of its beginning in `scratch`. The IPv4
// header gets its own; TCP and UDP, over IPv4 or over IPv6 with nothing but
// options between, get theirs unless the packet is a fragment. What is cut off
// or lies about its length stays as it is. Any thread.
FinishedHeaders FinishChecksums(
    std::span<const iovec> segments, size_t length_bytes,
    std::span<std::byte, kMaxChecksummedHeaderBytes> scratch) noexcept;

// True if `frame` is TCP or UDP in a whole IPv4 packet and the checksums of
// both are right. A UDP checksum of 0, which means none, is not. Any thread.
bool HasGoodChecksums(std::span<const std::byte> frame) noexcept;

}  // namespace weir::hca

#endif  // WEIR_HCA_PACKET_CHECKSUMS_H_
