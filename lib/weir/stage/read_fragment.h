// Reads what reassembly has to know of a fragment, once, from the headers that
// Parse found.

#ifndef WEIR_STAGE_READ_FRAGMENT_H_
#define WEIR_STAGE_READ_FRAGMENT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "weir/base/big_endian.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/ethernet.h"
#include "weir/net/ipv4.h"
#include "weir/stage/reassembly_fragment.h"

namespace weir {
namespace internal {

// Any that ReadFragment does not take at once.
void ReadOtherFragment(Mbuf& mbuf, const ReassemblySeed& seed,
                       ReassemblyFragment& fragment) noexcept;

// The first five fields of what is known of a frame, in one register; then the
// last two.
inline uint64_t PackInfo(const PacketInfo& info) noexcept {
  return Load<uint64_t>(reinterpret_cast<const std::byte*>(&info));
}
inline uint16_t PackState(const PacketInfo& info) noexcept {
  return Load<uint16_t>(reinterpret_cast<const std::byte*>(&info.flags));
}
constexpr uint64_t PackFields(uint64_t l3_offset, uint64_t l4_offset,
                              uint64_t version) noexcept {
  return l3_offset | l4_offset << 16 | version << 56;
}

// Whether `mbuf` is a plain one whose headers are as they are mostly: behind an
// Ethernet header without tags one of `l3` that ends, with its fragment header,
// at `l4_offset`. `packed` is what PackInfo says.
inline bool IsPlain(const Mbuf& mbuf, uint64_t packed, L3 l3,
                    uint32_t l4_offset) noexcept {
  // One comparison.
  return (packed & PackFields(UINT16_MAX, UINT16_MAX, UINT8_MAX)) ==
             PackFields(sizeof(net::EthernetHeader), l4_offset,
                        static_cast<uint8_t>(l3)) &&
         mbuf.is_plain();
}

// Notes where the data of a fragment stands, all of such an mbuf behind
// `l4_offset` from `begin` on, with `more` to come (8 if so, else 0); false if
// it cannot stand there.
[[gnu::always_inline]] inline bool Place(
    const Mbuf& mbuf, uint64_t packed, uint32_t l4_offset, uint32_t begin,
    uint32_t more, ReassemblyFragment& fragment) noexcept {
  const uint32_t bytes =
      mbuf.frame_bytes() - l4_offset - static_cast<uint16_t>(packed >> 32);
  const uint32_t end = begin + bytes;
  fragment.begin = begin;
  fragment.end = end;
  fragment.run = 1;
  fragment.is_last = more == 0;
  fragment.fault = ReassemblyFragment::Fault::kNone;
  // `bytes` of a frame that is shorter than its headers are many. A difference
  // that should not be negative has the upper bit set if it is.
  const uint32_t left = (bytes - 1) | (UINT16_MAX - end);
  // 8 if there are more than a multiple of eight.
  const uint32_t odd = ((bytes & 7) + 7) & more;
  return (left >> 31 | odd) == 0;
}

// A fragment of IPv4 without options, whose header checksum was not looked at;
// false if it is another one.
[[gnu::always_inline]] inline bool ReadPlainIpv4(
    const Mbuf& mbuf, ReassemblyFragment& fragment) noexcept {
  constexpr uint32_t kL3 = sizeof(net::EthernetHeader);
  constexpr uint32_t kL4 = kL3 + sizeof(net::Ipv4Header);
  const uint64_t packed = PackInfo(mbuf.info());
  if (!IsPlain(mbuf, packed, L3::kIpv4, kL4)) [[unlikely]]
    return false;
  const std::byte* const ip = mbuf.data() + kL3;
  // Version, type of service, length, identification, fragment field.
  const uint64_t head = Load<Be64>(ip).host();
  const auto field = static_cast<uint32_t>(head);
  if (!Place(mbuf, packed, kL4, field * 8 & UINT16_MAX, field >> 10 & 8,
             fragment)) [[unlikely]] {
    return false;
  }
  fragment.key.addresses = Load<uint64_t>(ip + 12);
  fragment.key.rest = (field & 0xffff0000) | std::to_integer<uint32_t>(ip[9]);
  fragment.ecn = std::to_integer<uint8_t>(ip[1]);
  return true;
}

}  // namespace internal

// Reads into `fragment` what `mbuf` holds, all but hashes and neighbours; in
// place, for a copy of what was just written in parts waits for it. Of what is
// no fragment, as info() says, Fault::kWhole. Owner lcore only.
[[gnu::always_inline]] inline void ReadFragment(
    Mbuf& mbuf, const ReassemblySeed& seed,
    ReassemblyFragment& fragment) noexcept {
  // A fragment with a good header checksum. One comparison, as above.
  constexpr uint32_t kState =
      PacketInfo::kFragment | static_cast<uint32_t>(ChecksumState::kGood) << 8;
  constexpr uint32_t kStateBits = PacketInfo::kFragment | 0xf << 8;
  const uint32_t state = internal::PackState(mbuf.info());
  if ((state & kStateBits) == kState && internal::ReadPlainIpv4(mbuf, fragment))
      [[likely]] {
    return;
  }
  internal::ReadOtherFragment(mbuf, seed, fragment);
}

}  // namespace weir

#endif  // WEIR_STAGE_READ_FRAGMENT_H_
