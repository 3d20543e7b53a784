// Looks whether the checksums of received packets are right: that of IPv4's
// header and that of what IP carries.

#ifndef WEIR_STAGE_VERIFY_CHECKSUMS_H_
#define WEIR_STAGE_VERIFY_CHECKSUMS_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/transport_checksum.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/stage.h"
#include "weir/stage/transport_part.h"

namespace weir {

enum class ChecksumRule : uint8_t {
  // Look, and drop what is wrong.
  kDrop,
  // Look, and say what was found in PacketInfo.
  kMark,
  // Do not look: the state stays as it is.
  kIgnore,
};

struct ChecksumRules {
  ChecksumRule ipv4 = ChecksumRule::kDrop;
  ChecksumRule tcp = ChecksumRule::kDrop;
  ChecksumRule udp = ChecksumRule::kDrop;
  ChecksumRule udp_lite = ChecksumRule::kDrop;
  ChecksumRule sctp = ChecksumRule::kDrop;
  ChecksumRule icmp = ChecksumRule::kDrop;
  ChecksumRule icmp6 = ChecksumRule::kDrop;
  ChecksumRule igmp = ChecksumRule::kDrop;
  // UDP over IPv6 may leave its checksum out, as some tunnels do (RFC 6935,
  // RFC 6936): it is absent then, and otherwise bad.
  bool allow_udp6_without = false;
  // TCP and UDP may have the sum of the pseudo-header alone, as frames have
  // that were captured where they were sent: it is partial then, otherwise bad.
  bool allow_partial = false;
};

// A packet stage behind Parse. Writes ip_checksum and l4_checksum of
// PacketInfo, each if it is kUnknown so far: it may stand in front of
// reassembly, where it looks at the IPv4 headers of fragments but not at what
// they carry, and once more behind it. What the device has checked is not
// looked at again. What fits no known checksum passes.
//
// Right and wrong are as in RFC 1122 §3.2.1.2, RFC 768, RFC 3828, RFC 9293,
// RFC 9260 §6.8, RFC 792, RFC 4443 §2.3, RFC 2236 §2, RFC 8200 §8.1. Owner
// lcore only.
class VerifyChecksums {
 public:
  enum class Drop : uint8_t {
    kIpv4,
    kTcp,
    kUdp,
    kUdpLite,
    kSctp,
    kIcmp,
    kIcmp6,
    kIgmp,
    kUdp6Without,
    kUdpLiteWithout,
    kPartial,
    kWrongLength,
    kCutShort,
  };
  static constexpr absl::string_view kName = "verify-checksums";
  static constexpr std::array<absl::string_view, 13> kDropNames = {
      "IPv4 header checksum",
      "TCP checksum",
      "UDP checksum",
      "UDP-Lite checksum",
      "SCTP checksum",
      "ICMP checksum",
      "ICMPv6 checksum",
      "IGMP checksum",
      "UDP over IPv6 without checksum",
      "UDP-Lite without checksum",
      "checksum left to offload",
      "transport length",
      "shorter than its packet"};

  explicit VerifyChecksums(const ChecksumRules& rules = {}) noexcept;

  Verdict OnPacket(Mbuf& packet, Lcore&) noexcept {
    PacketInfo& info = packet.info();
    if (info.l3 == L3::kIpv4 && info.ip_checksum() == ChecksumState::kUnknown &&
        ipv4_ != ChecksumRule::kIgnore && !HasGoodHeader(packet) &&
        ipv4_ == ChecksumRule::kDrop) {
      return Verdict::Drop(Drop::kIpv4);
    }
    if (!info.is_ip() || info.l4_checksum() != ChecksumState::kUnknown) {
      return Verdict::Pass();
    }
    return JudgeTransport(packet);
  }

 private:
  // Also marks it.
  bool HasGoodHeader(Mbuf& packet) const noexcept;
  Verdict JudgeTransport(Mbuf& packet) const noexcept;
  // Where `drop` is why, if the rule for `kind` is to drop.
  Verdict Mark(Mbuf& packet, net::ChecksumKind kind, ChecksumState state,
               Drop drop) const noexcept;

  // By net::ChecksumKind.
  std::array<ChecksumRule, net::kChecksumKinds> rules_;
  ChecksumRule ipv4_;
  bool allow_udp6_without_;
  bool allow_partial_;
};

}  // namespace weir

#endif  // WEIR_STAGE_VERIFY_CHECKSUMS_H_
