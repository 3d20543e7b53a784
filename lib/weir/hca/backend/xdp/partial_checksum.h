// Frames whose checksum the sending kernel left to a NIC that there is none of:
// what a medium that is told nothing about it can still find out.

#ifndef WEIR_HCA_BACKEND_XDP_PARTIAL_CHECKSUM_H_
#define WEIR_HCA_BACKEND_XDP_PARTIAL_CHECKSUM_H_

#include <cstddef>
#include <span>

namespace weir::hca {

// Finishes the TCP or UDP checksum of `frame` if it is wrong and its field
// holds the sum of the pseudo-header, which is what Linux leaves there. A frame
// that was damaged on its way looks like that in one of 65536 cases. True if it
// changed the frame. Any thread.
bool FinishPartialChecksum(std::span<std::byte> frame) noexcept;

struct SettledChecksums {
  // What FinishPartialChecksum returns.
  bool finished = false;
  // What HasGoodChecksums returns of the frame as it is then.
  bool good = false;
};

// FinishPartialChecksum and HasGoodChecksums in one: the frame is parsed and
// summed once. Any thread.
SettledChecksums SettleChecksums(std::span<std::byte> frame) noexcept;

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_XDP_PARTIAL_CHECKSUM_H_
