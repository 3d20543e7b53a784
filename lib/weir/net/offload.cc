#include "weir/net/offload.h"

#include <cassert>
#include <cstring>

#include "weir/base/big_endian.h"
#include "weir/net/checksum.h"
#include "weir/net/crc32c.h"
#include "weir/net/load_store.h"
#include "weir/net/mac_address.h"

namespace weir::net {
namespace {

// RFC 9260 §3.1: no other protocol has its checksum here.
constexpr size_t kSctpChecksumOffset = 8;

// The CRC is computed with zero in its field.
void CompleteSctp(std::span<std::byte> packet) noexcept {
  StoreHeader(packet, kSctpChecksumOffset, Be32(0));
  Crc32c crc;
  crc.Add(packet);
  StoreHeader(packet, kSctpChecksumOffset, crc.Checksum());
}

}  // namespace

bool CompleteChecksum(std::span<std::byte> frame,
                      const PartialChecksum& partial) noexcept {
  const bool is_sctp = partial.offset == kSctpChecksumOffset;
  const size_t field_bytes = is_sctp ? sizeof(Be32) : sizeof(Be16);
  if (partial.start + partial.offset + field_bytes > frame.size()) return false;
  const std::span<std::byte> packet = frame.subspan(partial.start);
  if (is_sctp) {
    CompleteSctp(packet);
    return true;
  }
  InternetSum sum;
  sum.Add(packet);
  StoreHeader(packet, partial.offset, NeverZero(sum.Checksum()));
  return true;
}

void InsertVlanTag(std::span<std::byte> frame, const VlanTag& tag) noexcept {
  constexpr size_t kAddressBytes = 2 * sizeof(MacAddress);
  assert(frame.size() >= sizeof tag + sizeof(EthernetHeader));
  std::memmove(frame.data(), frame.data() + sizeof tag, kAddressBytes);
  StoreHeader(frame, kAddressBytes, tag);
}

}  // namespace weir::net
