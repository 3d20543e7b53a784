#include "weir/net/transport_checksum.h"

#include "weir/net/ip_protocol.h"

namespace weir::net {
namespace {

using KindOfProtocol = std::array<ChecksumKind, 256>;

constexpr KindOfProtocol MakeKinds(bool is_ipv6) {
  KindOfProtocol kinds = {};
  kinds[kProtocolTcp] = ChecksumKind::kTcp;
  kinds[kProtocolUdp] = ChecksumKind::kUdp;
  kinds[kProtocolUdpLite] = ChecksumKind::kUdpLite;
  kinds[kProtocolSctp] = ChecksumKind::kSctp;
  if (is_ipv6) {
    kinds[kProtocolIcmp6] = ChecksumKind::kIcmp6;
  } else {
    kinds[kProtocolIcmp] = ChecksumKind::kIcmp;
    kinds[kProtocolIgmp] = ChecksumKind::kIgmp;
  }
  return kinds;
}
constexpr std::array<KindOfProtocol, 2> kKinds = {MakeKinds(false),
                                                  MakeKinds(true)};

}  // namespace

ChecksumKind ChecksumKindOf(uint8_t protocol, bool is_ipv6) noexcept {
  return kKinds[is_ipv6 ? 1 : 0][protocol];
}

bool internal::IsPartial(const TransportPart& part, uint32_t covered) noexcept {
  if (part.kind != ChecksumKind::kTcp && part.kind != ChecksumKind::kUdp) {
    return false;
  }
  const auto field = LoadHeader<Be16>(
      part.front, kChecksumPlaces[static_cast<size_t>(part.kind)].offset);
  const Be16 complement = PseudoHeaderSum(part, covered).Checksum();
  return field.host() == 0xffff - complement.host();
}

}  // namespace weir::net
