#include "weir/net/offload.h"

#include <cassert>
#include <cstdint>
#include <cstring>

#include "weir/base/big_endian.h"
#include "weir/net/checksum.h"
#include "weir/net/load_store.h"
#include "weir/net/mac_address.h"

namespace weir::net {
namespace {

// RFC 9260 §3.1: no other protocol has its checksum here.
constexpr size_t kSctpChecksumOffset = 8;

// Castagnoli, reflected (RFC 9260 appendix A).
constexpr uint32_t kCrc32cPolynomial = 0x82f63b78;

// Bit by bit: SCTP between network namespaces is too rare for a table.
uint32_t Crc32c(std::span<const std::byte> bytes) noexcept {
  uint32_t crc = ~uint32_t{0};
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ (kCrc32cPolynomial & (0 - (crc & 1)));
    }
  }
  return ~crc;
}

// The CRC is computed with zero in its field and stored low byte first.
void CompleteSctp(std::span<std::byte> packet) noexcept {
  StoreHeader(packet, kSctpChecksumOffset, Be32(0));
  StoreHeader(packet, kSctpChecksumOffset, Be32(ByteSwap(Crc32c(packet))));
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
