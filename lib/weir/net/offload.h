// What a NIC would do to a frame and the kernel leaves to do when it hands one
// to a packet socket: the checksum is unfinished, the VLAN tag lies beside.

#ifndef WEIR_NET_OFFLOAD_H_
#define WEIR_NET_OFFLOAD_H_

#include <cstddef>
#include <span>

#include "weir/net/ethernet.h"

namespace weir::net {

// Where an unfinished checksum is, as struct virtio_net_hdr says it.
struct PartialChecksum {
  // Where the summed bytes begin in the frame; they end with the frame.
  size_t start;
  // Of the checksum behind `start`.
  size_t offset;
};

// Finishes the checksum of `frame`, whose field holds the sum of the
// pseudo-header. SCTP, known by its offset, gets its CRC32c (RFC 9260 appendix
// A). False, changing nothing, if the field is not within the frame. Any
// thread.
bool CompleteChecksum(std::span<std::byte> frame,
                      const PartialChecksum& partial) noexcept;

// Puts `tag` behind the addresses of a frame that begins at the fifth byte of
// `frame` and is at least an Ethernet header long; it begins at the first byte
// then. Any thread.
void InsertVlanTag(std::span<std::byte> frame, const VlanTag& tag) noexcept;

}  // namespace weir::net

#endif  // WEIR_NET_OFFLOAD_H_
