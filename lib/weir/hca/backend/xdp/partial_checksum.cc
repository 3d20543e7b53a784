#include "weir/hca/backend/xdp/partial_checksum.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "weir/base/big_endian.h"
#include "weir/net/checksum.h"
#include "weir/net/ip_packet.h"
#include "weir/net/offload.h"

namespace weir::hca {

bool FinishPartialChecksum(std::span<std::byte> frame) noexcept {
  const std::optional<net::IpPacket> packet = net::FindIpPacket(frame);
  if (!packet || packet->is_fragment || packet->end > frame.size()) {
    return false;
  }
  const size_t start = packet->transport_offset;
  const size_t field = net::ChecksumOffset(packet->protocol);
  if (field == 0 || start + field + sizeof(Be16) > packet->end) return false;
  const net::InternetSum pseudo_header =
      net::PseudoHeaderSum(frame, *packet, packet->end - start);
  Be16 found;
  std::memcpy(&found, &frame[start + field], sizeof found);
  // The field holds the sum, Checksum() is its complement.
  if (found.host() != static_cast<uint16_t>(~pseudo_header.Checksum().host())) {
    return false;
  }
  net::InternetSum whole = pseudo_header;
  whole.Add(frame.subspan(start, packet->end - start));
  if (whole.Checksum() == Be16(0)) return false;
  return net::CompleteChecksum(frame.first(packet->end),
                               {.start = start, .offset = field});
}

}  // namespace weir::hca
