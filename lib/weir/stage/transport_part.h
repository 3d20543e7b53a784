// Finds in a parsed packet what the checksum of its transport header covers.

#ifndef WEIR_STAGE_TRANSPORT_PART_H_
#define WEIR_STAGE_TRANSPORT_PART_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "weir/mbuf/mbuf.h"
#include "weir/net/transport_checksum.h"

namespace weir {

// The part of one packet; refers to the packet. Owner lcore only.
class PacketPart {
 public:
  enum class Status : uint8_t {
    kFound,
    // Not IP, a fragment, or a protocol without a checksum known here.
    kNone,
    // The frame ends before its packet does.
    kCutShort,
    // A routing header that is not understood: nobody but the sender knows the
    // pseudo-header.
    kUnknownRoute,
  };

  // `packet` has been parsed: its IP headers are in the first segment.
  explicit PacketPart(const Mbuf& packet) noexcept;
  PacketPart(const PacketPart&) = delete;
  PacketPart& operator=(const PacketPart&) = delete;
  ~PacketPart() = default;

  Status status() const noexcept { return status_; }
  // Of kNone only kNone; set in all other cases.
  net::ChecksumKind kind() const noexcept { return part_.kind; }
  // Of kFound only.
  const net::TransportPart& part() const noexcept { return part_; }

 private:
  Status Find(const Mbuf& packet) noexcept;

  net::TransportPart part_ = {};
  Status status_;
  // The front, where the first segment does not have it whole.
  std::array<std::byte, net::kMaxTransportFrontBytes> copy_;
};

}  // namespace weir

#endif  // WEIR_STAGE_TRANSPORT_PART_H_
