// The blocks of a pcapng file (draft-ietf-opsawg-pcapng-03) as bytes, in the
// byte order of this machine, with times in nanoseconds since the Unix epoch.

#ifndef WEIR_CAPTURE_PCAPNG_BLOCKS_H_
#define WEIR_CAPTURE_PCAPNG_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace weir::pcapng {

// Which way a packet went (§4.3.1, epb_flags).
enum class Direction : uint8_t { kUnknown = 0, kInbound = 1, kOutbound = 2 };

struct Packet {
  // Number of the interface block, from 0.
  uint32_t interface_id = 0;
  uint64_t unix_ns = 0;
  std::span<const std::byte> bytes = {};
  // The whole frame.
  uint32_t frame_bytes = 0;
  Direction direction = Direction::kUnknown;
  // For people; left out if empty.
  std::string comment = {};
};

struct Statistics {
  uint32_t interface_id = 0;
  uint64_t begin_unix_ns = 0;
  uint64_t end_unix_ns = 0;
  // Packets that came by (isb_ifrecv), those of them that are not in the file
  // (isb_osdrop) and those that are (isb_usrdeliv).
  uint64_t seen = 0;
  uint64_t lost = 0;
  uint64_t delivered = 0;
};

// Each appends one block to `out`. Any thread.
//
// The start of a file that `application` writes (§4.1).
void AppendSection(absl::string_view application, std::vector<std::byte>& out);
// An interface of Ethernet frames (§4.2), of which `snaplen_bytes` are kept.
void AppendInterface(absl::string_view name, uint32_t snaplen_bytes,
                     std::vector<std::byte>& out);
// An enhanced packet block (§4.3).
void AppendPacket(const Packet& packet, std::vector<std::byte>& out);
// An interface statistics block (§4.6).
void AppendStatistics(const Statistics& counts, std::vector<std::byte>& out);

}  // namespace weir::pcapng

#endif  // WEIR_CAPTURE_PCAPNG_BLOCKS_H_
