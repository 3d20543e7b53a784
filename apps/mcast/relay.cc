#include "apps/mcast/relay.h"

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "apps/mcast/group_flags.h"
#include "apps/mcast/group_list.h"
#include "apps/mcast/host_mtu.h"
#include "apps/mcast/link_addresses.h"
#include "apps/mcast/proxy.h"
#include "apps/mcast/relay_report.h"
#include "weir/app/port_groups.h"
#include "weir/pipeline/pipeline.h"
#include "weir/port/port.h"
#include "weir/stage/fragment.h"
#include "weir/stage/group/igmp_host.h"
#include "weir/stage/group/membership_router.h"
#include "weir/stage/group/mld_host.h"
#include "weir/stage/group/relay_groups.h"
#include "weir/stage/parse.h"
#include "weir/stage/transmit_both_ways.h"
#include "weir/stage/verify_checksums.h"

ABSL_FLAG(
    std::string, static, "",
    "relay: groups that are relayed whether or not anybody asks for them, "
    "with commas");
ABSL_FLAG(std::string, ip_in, "",
          "relay: addresses to join from, such as 192.0.2.1,fe80::1; those of "
          "the netdev if empty");
ABSL_FLAG(std::string, ip_out, "",
          "relay: addresses to ask members from; those of the netdev if empty");
ABSL_FLAG(uint32_t, max_groups, 256,
          "relay: groups of a family that members may want at once");
ABSL_FLAG(bool, both_ways, false,
          "relay: also what hosts behind the second port send to groups, to "
          "the first");
ABSL_FLAG(absl::Duration, query_interval, absl::Seconds(125),
          "relay: between two questions who wants which groups");

namespace weir::mcast {
namespace {

// RFC 3376 §8.3.
constexpr absl::Duration kMaxResponse = absl::Seconds(10);

// Each message is looked at beside all groups.
constexpr uint32_t kMaxGroups = 4096;

struct Options {
  GroupRanges allowed = {};
  std::vector<net::IpAddress> always = {};
  GroupRouterOptions router = {};
  std::optional<uint16_t> vlan = {};
  bool both_ways = false;
};

absl::StatusOr<Options> ReadOptions() {
  Options options;
  auto allowed = ReadRanges("--group", absl::GetFlag(FLAGS_group));
  if (!allowed.ok()) return allowed.status();
  options.allowed = *std::move(allowed);
  auto always = ReadGroups("--static", absl::GetFlag(FLAGS_static));
  if (!always.ok()) return always.status();
  for (const net::IpAddress& group : *always) {
    if (options.allowed.Allow(group)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--static: ", net::ToString(group),
                     " is not among the groups of --group"));
  }
  options.always = *std::move(always);
  options.router.max_groups = absl::GetFlag(FLAGS_max_groups);
  if (options.router.max_groups == 0 ||
      options.router.max_groups > kMaxGroups) {
    return absl::InvalidArgumentError(absl::StrCat("--max_groups: want 1 to ",
                                                   kMaxGroups, ", got ",
                                                   options.router.max_groups));
  }
  const absl::Duration interval = absl::GetFlag(FLAGS_query_interval);
  // RFC 3376 §4.1.7: 31744 s are the most that a query can say.
  if (interval < absl::Seconds(1) || interval > absl::Seconds(31744)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--query_interval: want 1s to 31744s, got ",
                     absl::FormatDuration(interval)));
  }
  options.router.query_interval_ns =
      static_cast<uint64_t>(absl::ToInt64Nanoseconds(interval));
  options.router.response_ns = static_cast<uint64_t>(
      absl::ToInt64Nanoseconds(std::min(kMaxResponse, interval / 2)));
  const auto vlan = ReadVlan();
  if (!vlan.ok()) return vlan.status();
  options.vlan = *vlan;
  options.both_ways = absl::GetFlag(FLAGS_both_ways);
  return options;
}

// Each family is relayed that there is an address to ask from for.
absl::Status CheckFamilies(const Options& options, const LinkAddresses& out,
                           const PortInfo& port) {
  const std::string remedy = absl::StrCat(
      port.name, ": ",
      port.netdev.empty() ? "there is no netdev below it"
                          : absl::StrCat("netdev ", port.netdev, " has none"),
      "; say one: --ip_out=");
  if (!out.ipv4 && !out.ipv6) {
    return absl::FailedPreconditionError(
        absl::StrCat("relay: members are asked from an address of ", remedy,
                     "192.0.2.1 or fe80::1, or both with a comma"));
  }
  const auto wants = [&options](size_t family) {
    return std::any_of(
        options.always.begin(), options.always.end(),
        [family](const auto& group) { return group.index() == family; });
  };
  if (!out.ipv4 && (!options.allowed.ipv4.empty() || wants(0))) {
    return absl::FailedPreconditionError(absl::StrCat(
        "relay: groups of IPv4 need an IPv4 address of ", remedy, "192.0.2.1"));
  }
  if (!out.ipv6 && (!options.allowed.ipv6.empty() || wants(1))) {
    return absl::FailedPreconditionError(
        absl::StrCat("relay: groups of IPv6 need an address of the link of ",
                     remedy, "fe80::1"));
  }
  return absl::OkStatus();
}

// The groups of other families are relayed only if one of theirs is named.
template <typename Address>
RelayFamily<Address> FamilyOf(
    const std::shared_ptr<const MembershipRouterCounts>& router,
    const Options& options,
    const std::vector<net::AddressPrefix<Address>>& allowed) {
  if (router == nullptr || (allowed.empty() && !options.allowed.empty())) {
    return {};
  }
  return {
      .is_querier = std::shared_ptr<const Counter>(router, &router->is_querier),
      .allowed = allowed};
}

RelayGroups::Ends MakeStage(const Options& options, const RelayView& view,
                            const Port& to) {
  return RelayGroups::Create(
      {.mac = to.mac(),
       .vlan = options.vlan,
       .ipv4 = FamilyOf(view.igmp, options, options.allowed.ipv4),
       .ipv6 = FamilyOf(view.mld, options, options.allowed.ipv6),
       .max_groups = 2 * kMaxGroups});
}

// Of a packet from `from` to `to`: what is too long is cut or, of IPv6, its
// sender told.
absl::StatusOr<Fragment> MakeFragment(const Port& from, const Port& to,
                                      const LinkAddresses& addresses) {
  return Fragment::Create(
      {.mtu_bytes = to.mtu_bytes(),
       .role = FragmentRole::kRouter,
       .max_segments = to.tx[0].max_segments(),
       .router = {
           .mac = from.mac(), .ipv4 = addresses.ipv4, .ipv6 = addresses.ipv6}});
}

ChecksumRules OnlyIpv4() {
  ChecksumRules rules;
  for (ChecksumRule* rule :
       {&rules.tcp, &rules.udp, &rules.udp_lite, &rules.sctp, &rules.icmp,
        &rules.icmp6, &rules.igmp}) {
    *rule = ChecksumRule::kIgnore;
  }
  return rules;
}

// What comes by the first port.
absl::Status LaunchDown(App& app, Port& in, Port& out, const Options& options,
                        const LinkAddresses& addresses, RelayView& view) {
  GroupHostOptions host;
  host.max_groups =
      options.router.max_groups + static_cast<uint32_t>(options.always.size());
  host.seed = std::hash<std::string>()(in.name());
  auto igmp = IgmpHost::Create(
      {.sender = {.mac = in.mac(),
                  .address = addresses.ipv4.value_or(net::Ipv4Address{}),
                  .vlan = options.vlan},
       .mtu_bytes = HostMtuBytes(in, view.igmp != nullptr),
       .host = host});
  if (!igmp.ok()) return AtPort(in, igmp.status());
  auto mld = MldHost::Create(
      {.sender = {.mac = in.mac(),
                  .address = addresses.ipv6.value_or(net::Ipv6Address{}),
                  .vlan = options.vlan},
       .mtu_bytes = HostMtuBytes(in, view.mld != nullptr),
       .host = host});
  if (!mld.ok()) return AtPort(in, mld.status());
  PortGroups::Hosts hosts;
  if (view.igmp != nullptr) hosts.igmp = std::move(igmp->control);
  if (view.mld != nullptr) hosts.mld = std::move(mld->control);
  auto groups =
      PortGroups::Create(in.steering(), in.monitor(), std::move(hosts));
  if (!groups.ok()) return groups.status();
  const std::shared_ptr<PortGroups> upstream = *std::move(groups);
  app.SetGroups(in, upstream);
  auto proxy = Proxy::Create(
      upstream, {.allowed = options.allowed, .always = options.always});
  if (!proxy.ok()) return proxy.status();
  view.proxy = *std::move(proxy);
  auto fragment = MakeFragment(in, out, addresses);
  if (!fragment.ok()) return fragment.status();
  RelayGroups::Ends relay = MakeStage(options, view, out);
  view.ipv4_down = std::move(relay.ipv4);
  view.ipv6_down = std::move(relay.ipv6);
  return app.Launch(
      {.near = in.numa_node()},
      Pipeline{std::move(in.rx[0]), Parse{}, VerifyChecksums(OnlyIpv4()),
               std::move(igmp->stage), std::move(mld->stage),
               std::move(relay.stage), *std::move(fragment),
               TransmitBothWays{std::move(out.tx[0]), std::move(in.tx[0])}});
}

// What comes by the second port, through `routers`.
template <typename... Routers>
absl::Status LaunchUp(App& app, Port& in, Port& out, const Options& options,
                      const LinkAddresses& addresses, RelayView& view,
                      Routers... routers) {
  const RelayView none;
  RelayGroups::Ends relay =
      MakeStage(options, options.both_ways ? view : none, in);
  view.ipv4_up = std::move(relay.ipv4);
  view.ipv6_up = std::move(relay.ipv6);
  auto fragment = MakeFragment(out, in, addresses);
  if (!fragment.ok()) return fragment.status();
  return app.Launch(
      {.near = out.numa_node()},
      Pipeline{std::move(out.rx[0]), Parse{}, VerifyChecksums(OnlyIpv4()),
               std::move(routers)..., std::move(relay.stage),
               *std::move(fragment),
               TransmitBothWays{std::move(in.tx[1]), std::move(out.tx[1])}});
}

// Has the proxy follow what `changes` tells.
template <typename Changes>
void Follow(App& app, Proxy& proxy, std::shared_ptr<Changes> changes) {
  app.handlers().Add(changes->fd(), POLLIN, [&proxy, changes](short) {
    changes->TakeAll([&proxy](const auto& change) { proxy.Follow(change); });
  });
}

template <typename P, typename Address>
absl::StatusOr<std::optional<typename MembershipRouter<P>::Ends>> MakeRouter(
    const std::optional<Address>& address, const Port& out,
    const Options& options) {
  std::optional<typename MembershipRouter<P>::Ends> made;
  if (!address) return made;
  auto ends = MembershipRouter<P>::Create(
      {.sender = {.mac = out.mac(), .address = *address, .vlan = options.vlan},
       .mtu_bytes = out.mtu_bytes(),
       .router = options.router});
  if (!ends.ok()) return AtPort(out, ends.status());
  made = *std::move(ends);
  return made;
}

// Both pipelines, and what joins them.
absl::Status Launch(App& app, Port& in, Port& out, const Options& options,
                    RelayView& view) {
  const auto from =
      ReadLinkAddresses("--ip_in", absl::GetFlag(FLAGS_ip_in), in.info());
  if (!from.ok()) return from.status();
  const auto to =
      ReadLinkAddresses("--ip_out", absl::GetFlag(FLAGS_ip_out), out.info());
  if (!to.ok()) return to.status();
  absl::Status checked = CheckFamilies(options, *to, out.info());
  if (!checked.ok()) return checked;
  view.port = out.name();
  view.addresses = *to;
  auto igmp = MakeRouter<Igmp>(to->ipv4, out, options);
  if (!igmp.ok()) return igmp.status();
  auto mld = MakeRouter<Mld>(to->ipv6, out, options);
  if (!mld.ok()) return mld.status();
  if (*igmp) view.igmp = (*igmp)->counts;
  if (*mld) view.mld = (*mld)->counts;
  // Reports go to groups of all kinds.
  absl::Status heard = out.steering()->SetAllGroups(true);
  if (!heard.ok()) return heard;
  heard = out.steering()->SetAccept(Accept::kRules);
  if (!heard.ok()) return heard;
  absl::Status down = LaunchDown(app, in, out, options, *from, view);
  if (!down.ok()) return down;
  if (*igmp) {
    Follow(app, *view.proxy,
           std::make_shared<IgmpRouter::Changes>(std::move((*igmp)->changes)));
  }
  if (*mld) {
    Follow(app, *view.proxy,
           std::make_shared<MldRouter::Changes>(std::move((*mld)->changes)));
  }
  if (*igmp && *mld) {
    return LaunchUp(app, in, out, options, *to, view, std::move((*igmp)->stage),
                    std::move((*mld)->stage));
  }
  return *igmp ? LaunchUp(app, in, out, options, *to, view,
                          std::move((*igmp)->stage))
               : LaunchUp(app, in, out, options, *to, view,
                          std::move((*mld)->stage));
}

}  // namespace

absl::Status Relay(App& app) {
  const auto options = ReadOptions();
  if (!options.ok()) return options.status();
  const PortOptions port_options{.tx_queues = 2};
  // Fragments on their way out both ways, and what waits to be cut.
  auto ports =
      app.OpenPorts({.ports = port_options,
                     .stage_mbufs = 6 * uint64_t{port_options.tx_depth} + 256,
                     .stage_packets = 128});
  if (!ports.ok()) return ports.status();
  if (ports->size() != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "relay: want exactly 2 ports, where groups come from and where members "
        "are, got ",
        ports->size()));
  }
  RelayView view;
  absl::Status launched = Launch(app, (*ports)[0], (*ports)[1], *options, view);
  if (!launched.ok()) return launched;
  // Without either link there is nothing to relay.
  app.SetEnd([&view, both = *ports] {
    view.proxy->Retry();
    return std::ranges::any_of(both, [](const Port& port) {
      return port.monitor()->state() == PortState::kGone;
    });
  });
  app.AddToJson("relay", [&view] { return FormatRelayJson(view); });
  app.SetSummary([&view] { std::fputs(FormatRelay(view).c_str(), stdout); });
  return app.RunUntilSignal();
}

}  // namespace weir::mcast
