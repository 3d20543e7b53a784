// MLD as the state machines of this layer see it: names and times, and the
// bytes of its messages (RFC 2710, RFC 3810).

#ifndef WEIR_MEMBERSHIP_MLD_H_
#define WEIR_MEMBERSHIP_MLD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weir/membership/group_message.h"
#include "weir/net/ip_protocol.h"
#include "weir/net/ipv6.h"
#include "weir/net/mld.h"

namespace weir {

// A protocol for GroupHost and GroupRouter. Any thread.
struct Mld {
  using Address = net::Ipv6Address;
  using Header = net::Ipv6Header;
  using Record = net::Mld2Record;
  using Report = net::Mld2Report;

  static constexpr uint8_t kNewestVersion = 2;
  // The first version in which members say that they leave.
  static constexpr uint8_t kLeaveVersion = 1;
  static constexpr uint8_t kReportType = net::kMld2Report;
  static constexpr uint8_t kProtocol = net::kProtocolIcmp6;
  static constexpr Address kAllHosts{
      {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
  static constexpr Address kAllRouters{
      {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}};
  // RFC 3810 §5.2.14.
  static constexpr Address kReportGroup{
      {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x16}};

  // Between unsolicited reports, at most: RFC 3810 §9.11, RFC 2710 §7.10.
  static constexpr uint64_t UnsolicitedNs(uint8_t version) noexcept {
    return version == kNewestVersion ? 1'000'000'000 : 10'000'000'000;
  }

  // Whether hosts say that they are members: of all but the group of all nodes
  // of the link, and those of scopes 0 and 1 (RFC 3810 §6).
  static constexpr bool IsReported(const Address& group) noexcept {
    return group != kAllHosts && (group.octets[1] & 0xf) > 1;
  }

  // Whether the checksum of a whole message that `ip` carries is right.
  static bool IsRight(std::span<const std::byte> message,
                      const Header& ip) noexcept;

  // Reads an ICMPv6 message; nothing for one that is cut short or no message
  // of MLD, or a query of no version (RFC 3810 §8.1). The checksum was looked
  // at before.
  static std::optional<GroupMessage<Address>> Read(
      std::span<const std::byte> message) noexcept;

  // Writes a report without sources, or the message of who leaves, without
  // checksum; returns its bytes. `out` has room for a header.
  static size_t WriteOldReport(std::span<std::byte> out, uint8_t version,
                               const Address& group) noexcept;
  static size_t WriteLeave(std::span<std::byte> out,
                           const Address& group) noexcept;

  // Writes a query of the newest version with sources, as `query` says, without
  // checksum; returns its bytes, for which there is room in `out`.
  static size_t WriteQuery(std::span<std::byte> out,
                           const GroupMessage<Address>& query,
                           std::span<const Address> sources) noexcept;

  // Fills in the checksum of a whole message that `ip` carries.
  static void Finish(std::span<std::byte> message, const Header& ip) noexcept;
};

}  // namespace weir

#endif  // WEIR_MEMBERSHIP_MLD_H_
