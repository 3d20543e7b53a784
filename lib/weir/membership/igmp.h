// IGMP as the state machines of this layer see it: names and times, and the
// bytes of its messages (RFC 1112 App. I, RFC 2236, RFC 3376).

#ifndef WEIR_MEMBERSHIP_IGMP_H_
#define WEIR_MEMBERSHIP_IGMP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weir/membership/group_message.h"
#include "weir/net/igmp.h"
#include "weir/net/ip_protocol.h"
#include "weir/net/ipv4.h"

namespace weir {

// A protocol for GroupHost and GroupRouter. Any thread.
struct Igmp {
  using Address = net::Ipv4Address;
  using Header = net::Ipv4Header;
  using Record = net::Igmp3Record;
  using Report = net::Igmp3Report;

  static constexpr uint8_t kNewestVersion = 3;
  // The first version in which members say that they leave.
  static constexpr uint8_t kLeaveVersion = 2;
  static constexpr uint8_t kReportType = net::kIgmp3Report;
  static constexpr uint8_t kProtocol = net::kProtocolIgmp;
  static constexpr Address kAllHosts{{224, 0, 0, 1}};
  static constexpr Address kAllRouters{{224, 0, 0, 2}};
  // RFC 3376 §4.2.14.
  static constexpr Address kReportGroup{{224, 0, 0, 22}};

  // Between unsolicited reports, at most: RFC 3376 §8.11, RFC 2236 §8.10.
  static constexpr uint64_t UnsolicitedNs(uint8_t version) noexcept {
    return version == kNewestVersion ? 1'000'000'000 : 10'000'000'000;
  }

  // Whether hosts say that they are members: of all but the group of all hosts
  // (RFC 3376 §5).
  static constexpr bool IsReported(const Address& group) noexcept {
    return group != kAllHosts;
  }

  // Whether the checksum of a whole message that `ip` carries is right.
  static bool IsRight(std::span<const std::byte> message,
                      const Header& ip) noexcept;

  // Reads what IP carries; nothing for a message that is cut short, of an
  // unknown type, or a query of no version (RFC 3376 §7.1). The checksum was
  // looked at before.
  static std::optional<GroupMessage<Address>> Read(
      std::span<const std::byte> message) noexcept;

  // Writes a report without sources, of version 1 or 2, or the message of who
  // leaves, without checksum; returns its bytes. `out` has room for a header.
  static size_t WriteOldReport(std::span<std::byte> out, uint8_t version,
                               const Address& group) noexcept;
  static size_t WriteLeave(std::span<std::byte> out,
                           const Address& group) noexcept;

  // Writes a query of the newest version with sources, as `query` says, without
  // checksum; returns its bytes, for which there is room in `out`.
  static size_t WriteQuery(std::span<std::byte> out,
                           const GroupMessage<Address>& query,
                           std::span<const Address> sources) noexcept;

  // Fills in the checksum of a whole message; it does not cover `ip`.
  static void Finish(std::span<std::byte> message, const Header& ip) noexcept;
};

}  // namespace weir

#endif  // WEIR_MEMBERSHIP_IGMP_H_
