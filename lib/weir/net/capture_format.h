// The numbers of capture files that all who read and write them share: pcap
// (draft-ietf-opsawg-pcap-05) and pcapng (draft-ietf-opsawg-pcapng-03).

#ifndef WEIR_NET_CAPTURE_FORMAT_H_
#define WEIR_NET_CAPTURE_FORMAT_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "weir/base/big_endian.h"

namespace weir::net {

// pcap §4: the magic says the unit of the fraction, and by its own byte order
// that of the file.
inline constexpr uint32_t kPcapMagicMicroseconds = 0xa1b2c3d4;
inline constexpr uint32_t kPcapMagicNanoseconds = 0xa1b23c4d;

// pcap §4, in the byte order of the file.
struct PcapFileHeader {
  uint32_t magic;
  uint16_t version_major;
  uint16_t version_minor;
  uint32_t reserved[2];
  uint32_t snaplen_bytes;
  uint32_t link_type;
};
static_assert(sizeof(PcapFileHeader) == 24);

// pcap §5, in the byte order of the file; the captured bytes follow.
struct PcapRecordHeader {
  uint32_t seconds;
  uint32_t fraction;
  uint32_t captured_bytes;
  uint32_t wire_bytes;
};
static_assert(sizeof(PcapRecordHeader) == 16);

// The low bits of the header's link type field hold the LINKTYPE; above are
// reserved bits and the FCS length (pcap §4).
inline constexpr uint32_t kPcapLinkTypeMask = 0x03ffffff;

// LINKTYPE_ETHERNET of the tcpdump registry.
inline constexpr uint32_t kLinkTypeEthernet = 1;

// pcapng §4: block types. The section header reads the same in both orders.
inline constexpr uint32_t kBlockSectionHeader = 0x0a0d0d0a;
inline constexpr uint32_t kBlockInterface = 1;
inline constexpr uint32_t kBlockPacket = 2;
inline constexpr uint32_t kBlockSimplePacket = 3;
inline constexpr uint32_t kBlockInterfaceStatistics = 5;
inline constexpr uint32_t kBlockEnhancedPacket = 6;

// pcapng §4.1.
inline constexpr uint32_t kByteOrderMagic = 0x1a2b3c4d;

// pcapng §3.1: type and length before the body, the length again after it.
inline constexpr size_t kBlockHeaderBytes = 8;
inline constexpr size_t kBlockFrameBytes = 12;

// pcapng §3.5 and §4.2: the options of an interface that are read here.
inline constexpr uint16_t kOptionEnd = 0;
inline constexpr uint16_t kOptionTimestampResolution = 9;
inline constexpr uint16_t kOptionTimestampOffset = 14;

// The integer at `at`; `swapped` if the file is of the other byte order. Any
// thread.
template <std::unsigned_integral T>
T LoadInteger(const std::byte* at, bool swapped) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return swapped ? ByteSwap(value) : value;
}

}  // namespace weir::net

#endif  // WEIR_NET_CAPTURE_FORMAT_H_
