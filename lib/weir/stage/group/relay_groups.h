// What a router does to a packet of a group that goes on to another link: looks
// whether it may leave its own, and takes a hop off it (RFC 1812 §5.2, §5.3.1,
// RFC 4291 §2.5.6, §2.7). Which groups are wanted there a MembershipHost in
// front of it has seen to.

#ifndef WEIR_STAGE_GROUP_RELAY_GROUPS_H_
#define WEIR_STAGE_GROUP_RELAY_GROUPS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "weir/base/counter.h"
#include "weir/mbuf/mbuf.h"
#include "weir/net/address_prefix.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/net/mac_address.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/stage.h"
#include "weir/stage/group/group_tally.h"

namespace weir {

// Of one family.
template <typename Address>
struct RelayFamily {
  // Not 0 while it is this router that forwards to and from the link with
  // members: of several it is the querier (RFC 4605 §4.3). None: the family is
  // not relayed.
  std::shared_ptr<const Counter> is_querier = nullptr;
  // Which groups may be relayed; all, if there are none.
  std::vector<net::AddressPrefix<Address>> allowed = {};
};

struct RelayGroupsOptions {
  // Of the port that packets leave by.
  net::MacAddress mac{};
  // The VLAN that packets come and leave on, 1 to 4094; none: frames without a
  // tag.
  std::optional<uint16_t> vlan = {};
  RelayFamily<net::Ipv4Address> ipv4 = {};
  RelayFamily<net::Ipv6Address> ipv6 = {};
  // Of each family: groups that are counted one by one.
  uint32_t max_groups = 1024;
};

// A packet stage behind Parse; fragments are relayed like whole packets.
// Answers (PacketInfo::kAnswer) pass. Owner lcore only.
class RelayGroups {
 public:
  enum class Drop : uint8_t {
    kNotIp,
    kFamily,
    kOtherVlan,
    kNotGroup,
    kScope,
    kSource,
    kExpired,
    kNotAllowed,
    kNotQuerier,
  };
  static constexpr absl::string_view kName = "relay";
  static constexpr std::array<absl::string_view, 9> kDropNames = {
      "not IP",
      "not relayed from this port",
      "on another VLAN",
      "not to a group",
      "group of the link",
      "source of the link",
      "no hops left",
      "group that may not be relayed",
      "another router asks on the link",
  };

  struct Ends;
  // Control thread, before Launch.
  static Ends Create(const RelayGroupsOptions& options);

  Verdict OnPacket(Mbuf& packet, Lcore& lcore) noexcept;

 private:
  // What there is of each family.
  template <typename Address>
  struct Side {
    Verdict Relay(Mbuf& packet, const RelayGroups& stage) noexcept;

    // Where a group is counted; null if it may not be relayed.
    internal::TallyRow* RowOf(const Address& group) noexcept;

    RelayFamily<Address> family;
    GroupTally<Address> tally;
    // Of the group of the last packet: most packets are like it.
    Address last_group{};
    internal::TallyRow* last_row = nullptr;
  };

  RelayGroups(const RelayGroupsOptions& options,
              GroupTally<net::Ipv4Address> ipv4,
              GroupTally<net::Ipv6Address> ipv6);

  net::MacAddress mac_;
  std::optional<uint16_t> vlan_;
  Side<net::Ipv4Address> ipv4_;
  Side<net::Ipv6Address> ipv6_;
};

struct RelayGroups::Ends {
  GroupTallyReader<net::Ipv4Address> ipv4;
  GroupTallyReader<net::Ipv6Address> ipv6;
  RelayGroups stage;
};

static_assert(PacketStage<RelayGroups>);

}  // namespace weir

#endif  // WEIR_STAGE_GROUP_RELAY_GROUPS_H_
