// A proxy of groups between two links: frames of any bytes, or messages of IGMP
// and MLD of any bytes in right frames, come by one; frames and datagrams to
// groups by the other. What goes on was wanted, may leave its link, and is as
// it was but for a hop and the addresses of Ethernet.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "test/fuzz/input.h"
#include "weir/base/counter.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/checksum.h"
#include "weir/net/ethernet.h"
#include "weir/net/group_address.h"
#include "weir/net/load_store.h"
#include "weir/pipeline/lcore.h"
#include "weir/stage/group/group_frame.h"
#include "weir/stage/group/igmp_host.h"
#include "weir/stage/group/membership_router.h"
#include "weir/stage/group/mld_host.h"
#include "weir/stage/group/relay_groups.h"
#include "weir/stage/parse.h"

namespace weir {
namespace {

using fuzz::Input;
using fuzz::Require;
using Bytes = std::vector<std::byte>;

constexpr uint32_t kMaxGroups = 4;
constexpr uint32_t kMaxSources = 4;
constexpr net::MacAddress kMac{{2, 0, 0, 0, 0, 0xb}};

// One for all runs: it is empty whenever a run ends.
struct Lab {
  std::unique_ptr<MbufPool> pool =
      *MbufPool::Create({.mbufs = 256, .best_rung = PageRung::k4KiB});
  Lcore lcore{0, pool->cache(0)};
};

template <typename P>
typename P::Address AddressOf(uint8_t first, uint8_t second, uint8_t last) {
  typename P::Address address{};
  address.octets.front() = first;
  address.octets[1] = second;
  address.octets.back() = last;
  return address;
}

// A neighbour on a link.
template <typename P>
typename P::Address Neighbour(uint8_t last) {
  return std::is_same_v<P, Igmp> ? AddressOf<P>(192, 0, last)
                                 : AddressOf<P>(0xfe, 0x80, last);
}

// Of one family: what the router told, and what follows from it.
template <typename P>
class Family {
  using Address = typename P::Address;

 public:
  static constexpr bool kIsIpv4 = std::is_same_v<P, Igmp>;

  Family()
      : router(*MembershipRouter<P>::Create(
            {.sender = {.mac = kMac, .address = Neighbour<P>(9)},
             .router = {.max_groups = kMaxGroups,
                        .max_sources = kMaxSources}})),
        host(*MembershipHost<P>::Create(
            {.sender = {.mac = kMac, .address = Neighbour<P>(8)},
             .host = {.max_groups = kMaxGroups, .max_sources = kMaxSources}})) {
  }

  // The host wants what the router's link does.
  void Follow() {
    router.changes.TakeAll([this](const GroupChange<Address>& change) {
      if (change.is_gone()) {
        if (wanted_.erase(change.group) == 0) return;
        Require(host.control.Leave(change.group).ok(), "a leave is followed");
        return;
      }
      GroupWish<Address> wish{.mode = change.mode};
      wish.sources.assign(change.sources().begin(), change.sources().end());
      const absl::Status joined = host.control.Join(change.group, wish);
      // Members may name what is no group, or sources that are.
      if (!joined.ok()) {
        Require(absl::IsInvalidArgument(joined), "a join is followed");
        if (wanted_.erase(change.group) != 0) {
          Require(host.control.Leave(change.group).ok(), "and taken back");
        }
        return;
      }
      wanted_[change.group] = wish;
    });
    Require(wanted_.size() <= kMaxGroups, "the bound on groups");
  }

  bool Wants(const Address& group, const Address& source) const {
    const auto wish = wanted_.find(group);
    if (wish == wanted_.end()) return false;
    const auto& sources = wish->second.sources;
    const bool is_listed =
        std::find(sources.begin(), sources.end(), source) != sources.end();
    return is_listed == (wish->second.mode == FilterMode::kInclude);
  }

  typename MembershipRouter<P>::Ends router;
  typename MembershipHost<P>::Ends host;

 private:
  std::map<Address, GroupWish<Address>> wanted_;
};

// A message of any bytes from a neighbour.
template <typename P>
Bytes MessageFrame(Input& input) {
  const GroupSender<typename P::Address> sender{
      .mac = kMac, .address = Neighbour<P>(input.Byte())};
  const auto taken = input.Take(input.Byte());
  const size_t header_bytes = GroupFrameHeaderBytes<P>(sender);
  // A checksum takes four bytes.
  Bytes frame(header_bytes + std::max<size_t>(taken.size(), 8));
  std::transform(taken.begin(), taken.end(),
                 frame.begin() + static_cast<ptrdiff_t>(header_bytes),
                 [](uint8_t byte) { return std::byte{byte}; });
  FinishGroupFrame<P>(frame, sender, P::kReportGroup);
  return frame;
}

// A datagram to a group, of a protocol that nobody looks at.
template <typename P>
Bytes DataFrame(Input& input) {
  const auto group = AddressOf<P>(input.Byte(), input.Byte(), input.Byte());
  const auto source = AddressOf<P>(input.Byte(), input.Byte(), input.Byte());
  const uint8_t hops = input.Byte();
  Bytes frame(sizeof(net::EthernetHeader) + sizeof(typename P::Header) + 26);
  const uint16_t type =
      std::is_same_v<P, Igmp> ? net::kEtherTypeIpv4 : net::kEtherTypeIpv6;
  net::StoreHeader(std::span(frame), 0,
                   net::EthernetHeader{net::GroupMac(group), {}, Be16(type)});
  typename P::Header ip{};
  ip.source = source;
  ip.destination = group;
  if constexpr (std::is_same_v<P, Igmp>) {
    ip.version_and_length = 0x45;
    ip.total_length = Be16(sizeof ip + 26);
    ip.time_to_live = hops;
    ip.protocol = 253;
    net::InternetSum sum;
    sum.Add(std::as_bytes(std::span(&ip, 1)));
    ip.checksum = sum.Checksum();
  } else {
    ip.version_class_label = Be32(uint32_t{6} << 28);
    ip.payload_length = Be16(26);
    ip.next_header = 253;
    ip.hop_limit = hops;
  }
  net::StoreHeader(std::span(frame), sizeof(net::EthernetHeader), ip);
  return frame;
}

Bytes AnyFrame(Input& input) {
  const auto taken = input.Take(input.Byte());
  Bytes frame(taken.size());
  std::transform(taken.begin(), taken.end(), frame.begin(),
                 [](uint8_t byte) { return std::byte{byte}; });
  return frame;
}

class Proxy {
 public:
  explicit Proxy(Lab& lab)
      : lcore_(lab.lcore), relay_(RelayGroups::Create(Options())) {
    lcore_.UpdateClock();
  }

  void Run(Input input) {
    while (!input.empty()) {
      const uint8_t step = input.Byte();
      switch (step % 6) {
        case 0:
          Down(AnyFrame(input));
          break;
        case 1:
          Down(MessageFrame<Igmp>(input));
          break;
        case 2:
          Down(MessageFrame<Mld>(input));
          break;
        case 3:
          Up(AnyFrame(input));
          break;
        case 4:
          Up(DataFrame<Igmp>(input));
          break;
        default:
          Up(DataFrame<Mld>(input));
          break;
      }
    }
  }

 private:
  static RelayGroupsOptions Options() {
    auto one = std::make_shared<Counter>();
    one->Set(1);
    return {.mac = kMac,
            .ipv4 = {.is_querier = one},
            .ipv6 = {.is_querier = one},
            .max_groups = 3};
  }

  // The packet of `frame` in a burst, if Parse lets it pass.
  void Begin(const Bytes& frame, Burst& burst) {
    std::array<Mbuf*, 1> one{};
    Require(lcore_.cache().Alloc(one) == 1, "there is an mbuf");
    one[0]->Reset(lcore_.cache().pool().headroom_bytes());
    one[0]->SetLength(static_cast<uint32_t>(frame.size()));
    std::copy(frame.begin(), frame.end(), one[0]->data());
    burst.Adopt(*one[0]);
    if (!parse_.OnPacket(*one[0], lcore_).is_pass()) burst.Clear();
  }

  // A frame comes from members.
  void Down(const Bytes& frame) {
    Burst burst(lcore_.cache());
    Begin(frame, burst);
    ipv4_.router.stage.Tick(lcore_);
    ipv6_.router.stage.Tick(lcore_);
    ipv4_.router.stage.OnBurst(burst, lcore_);
    ipv6_.router.stage.OnBurst(burst, lcore_);
    ipv4_.Follow();
    ipv6_.Follow();
    burst.Clear();
  }

  // A frame comes from senders.
  void Up(const Bytes& frame) {
    Burst burst(lcore_.cache());
    Begin(frame, burst);
    ipv4_.host.stage.Tick(lcore_);
    ipv6_.host.stage.Tick(lcore_);
    ipv4_.host.stage.OnBurst(burst, lcore_);
    ipv6_.host.stage.OnBurst(burst, lcore_);
    for (Mbuf* const packet : burst.mbufs()) {
      if ((packet->info().flags & PacketInfo::kAnswer) != 0) continue;
      if (relay_.stage.OnPacket(*packet, lcore_).is_pass()) {
        CheckRelayed(frame, *packet);
      }
    }
    burst.Clear();
  }

  void CheckRelayed(const Bytes& before, const Mbuf& packet) {
    if (packet.info().l3 == L3::kIpv4) {
      CheckFamily(ipv4_, before, packet);
    } else {
      CheckFamily(ipv6_, before, packet);
    }
  }

  template <typename P>
  static void CheckFamily(const Family<P>& family, const Bytes& before,
                          const Mbuf& packet) {
    using Header = typename P::Header;
    const size_t at = packet.info().l3_offset;
    const auto was = net::LoadHeader<Header>(before, at);
    Require(net::IsGroup(was.destination), "it is to a group");
    Require(!net::IsLinkLocalGroup(was.destination), "of more than the link");
    Require(family.Wants(was.destination, was.source), "that is wanted");
    Bytes expected = before;
    auto ip = was;
    if constexpr (std::is_same_v<P, Igmp>) {
      Require(was.time_to_live > 1, "it had a hop left");
      --ip.time_to_live;
      ip.checksum = net::LoadHeader<Header>(packet.bytes(), at).checksum;
      CheckSum(before, packet, at, was.header_bytes());
    } else {
      Require(was.hop_limit > 1, "it had a hop left");
      --ip.hop_limit;
    }
    net::StoreHeader(std::span(expected), at, ip);
    auto ethernet = net::LoadHeader<net::EthernetHeader>(expected, 0);
    ethernet.source = kMac;
    ethernet.destination = net::GroupMac(was.destination);
    net::StoreHeader(std::span(expected), 0, ethernet);
    Require(std::ranges::equal(packet.bytes(), expected),
            "and as it was otherwise");
  }

  // Right before and after, or wrong by as much.
  static void CheckSum(const Bytes& before, const Mbuf& packet, size_t at,
                       size_t header_bytes) {
    net::InternetSum was;
    was.Add(std::span(before).subspan(at, header_bytes));
    net::InternetSum is;
    is.Add(packet.bytes().subspan(at, header_bytes));
    Require(was.Checksum() == is.Checksum(), "its checksum goes with it");
  }

  Lcore& lcore_;
  Parse parse_;
  Family<Igmp> ipv4_;
  Family<Mld> ipv6_;
  RelayGroups::Ends relay_;
};

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static weir::Lab& lab = *new weir::Lab();
  weir::Proxy(lab).Run(weir::fuzz::Input(data, size));
  return 0;
}
