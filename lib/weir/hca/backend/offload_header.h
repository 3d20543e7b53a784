// How the kernel says what is unfinished about a frame: struct virtio_net_hdr
// (VIRTIO 1.2 §5.1.6), which PACKET_VNET_HDR puts in front. Written out here
// because <linux/virtio_net.h> is not C++.

#ifndef WEIR_HCA_BACKEND_OFFLOAD_HEADER_H_
#define WEIR_HCA_BACKEND_OFFLOAD_HEADER_H_

#include <cstdint>

namespace weir::hca {

// All fields in the byte order of this machine.
struct OffloadHeader {
  uint8_t flags;
  uint8_t gso_type;
  // Of all headers, in front of the payload.
  uint16_t header_bytes;
  // Of payload in each segment.
  uint16_t segment_bytes;
  // Where the summed bytes begin, and where behind that the checksum is.
  uint16_t checksum_start;
  uint16_t checksum_offset;
};
static_assert(sizeof(OffloadHeader) == 10);

// VIRTIO_NET_HDR_F_NEEDS_CSUM.
inline constexpr uint8_t kOffloadNeedsChecksum = 1;

// VIRTIO_NET_HDR_GSO_*; those that the kernel hands out.
inline constexpr uint8_t kGsoNone = 0;
inline constexpr uint8_t kGsoTcpIpv4 = 1;
inline constexpr uint8_t kGsoTcpIpv6 = 4;
inline constexpr uint8_t kGsoUdp = 5;
// A flag beside the type: the first segment has CWR.
inline constexpr uint8_t kGsoEcnFlag = 0x80;

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_OFFLOAD_HEADER_H_
