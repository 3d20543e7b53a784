#include "apps/mcast/recv_pipeline.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <random>
#include <utility>

#include "apps/mcast/host_mtu.h"
#include "weir/pipeline/pipeline.h"
#include "weir/stage/group/igmp_host.h"
#include "weir/stage/group/mld_host.h"
#include "weir/stage/packet_ring.h"
#include "weir/stage/parse.h"
#include "weir/stage/reassemble.h"
#include "weir/stage/transmit_both_ways.h"
#include "weir/stage/udp/select_udp.h"
#include "weir/stage/verify_checksums.h"

namespace weir::mcast {
namespace {

// Both hosts, whichever families there are: packets of a family of which no
// group was joined end at its host, which never says anything.
struct Hosts {
  IgmpHost igmp;
  MldHost mld;
  PortGroups::Hosts control;
};

GroupHostOptions HostOptions(uint8_t version) {
  return {.version = version, .seed = std::random_device{}()};
}

// Whether groups of a family, the index of its addresses, can be joined at
// `port`. Over a small MTU only those that are wanted from the start.
bool CanJoin(const Port& port, const RecvFlags& flags, size_t family) {
  return port.mtu_bytes() >= kAmpleMtuBytes ||
         std::any_of(flags.groups.begin(), flags.groups.end(),
                     [family](const RecvFlags::Wanted& wanted) {
                       return wanted.group.index() == family;
                     });
}

absl::StatusOr<Hosts> MakeHosts(const Port& port, const RecvFlags& flags,
                                const LinkAddresses& addresses) {
  const bool has_igmp = addresses.ipv4 && CanJoin(port, flags, 0);
  const bool has_mld = addresses.ipv6 && CanJoin(port, flags, 1);
  IgmpOptions igmp_options;
  igmp_options.sender = {.mac = port.mac(),
                         .address = addresses.ipv4.value_or(net::Ipv4Address{}),
                         .vlan = flags.vlan};
  igmp_options.mtu_bytes = HostMtuBytes(port, has_igmp);
  igmp_options.host = HostOptions(flags.igmp_version);
  auto igmp = IgmpHost::Create(igmp_options);
  if (!igmp.ok()) return AtPort(port, igmp.status());
  MldOptions mld_options;
  mld_options.sender = {.mac = port.mac(),
                        .address = addresses.ipv6.value_or(net::Ipv6Address{}),
                        .vlan = flags.vlan};
  mld_options.mtu_bytes = HostMtuBytes(port, has_mld);
  mld_options.host = HostOptions(flags.mld_version);
  auto mld = MldHost::Create(mld_options);
  if (!mld.ok()) return AtPort(port, mld.status());
  Hosts hosts{std::move(igmp->stage), std::move(mld->stage), {}};
  if (has_igmp) hosts.control.igmp = std::move(igmp->control);
  if (has_mld) hosts.control.mld = std::move(mld->control);
  return hosts;
}

// What receives at one port.
struct Front {
  Port* port;
  Hosts hosts;
  Reassemble reassemble;
  SelectUdp select;
};

// Everything between the port and `outlet`, `stages` behind the selection.
template <typename Out, typename... Stages>
absl::Status LaunchInto(App& app, Front front, Out outlet, Stages... stages) {
  Port& port = *front.port;
  return app.Launch(
      {.near = port.numa_node()},
      Pipeline{std::move(port.rx[0]), Parse{}, std::move(front.hosts.igmp),
               std::move(front.hosts.mld), std::move(front.reassemble),
               VerifyChecksums{}, std::move(front.select), std::move(stages)...,
               TransmitBothWays{std::move(outlet), std::move(port.tx[0])}});
}

// Whether the group is for the port that is number `port` of `ports`.
bool IsWantedAt(const net::IpAddress& group, const RecvFlags& flags,
                size_t port, size_t ports) {
  return ports == 1 ||
         std::any_of(
             flags.sequence->pairs.begin(), flags.sequence->pairs.end(),
             [&](const LinePair& pair) { return pair.groups[port] == group; });
}

// Joins at the port that is number `number` of `ports`.
absl::StatusOr<Front> MakeFront(const std::vector<RecvPort>& ports,
                                size_t number, const RecvFlags& flags,
                                Reception& reception) {
  Port& port = *ports[number].port;
  auto reassemble = Reassemble::Create(RecvReassembly());
  if (!reassemble.ok()) return reassemble.status();
  auto hosts = MakeHosts(port, flags, ports[number].addresses);
  if (!hosts.ok()) return hosts.status();
  auto groups = PortGroups::Create(port.steering(), port.monitor(),
                                   std::move(hosts->control));
  if (!groups.ok()) return groups.status();
  for (const RecvFlags::Wanted& wanted : flags.groups) {
    if (!IsWantedAt(wanted.group, flags, number, ports.size())) continue;
    absl::Status joined = (*groups)->Join(wanted.group, wanted.interest);
    if (!joined.ok()) return joined;
  }
  reception.groups.push_back(*std::move(groups));
  auto received = std::make_shared<GroupCounts>();
  reception.received.push_back(received);
  return Front{&port, *std::move(hosts), *std::move(reassemble),
               SelectUdp(flags.udp_port, std::move(received))};
}

// The end of the last pipeline, which begins with `launch(outlet)`: counts, or
// a ring with delivery behind it.
template <typename Launch>
absl::Status LaunchDelivery(App& app, const RecvFlags& flags, int numa_node,
                            std::shared_ptr<Sink> sink,
                            const Reception& reception, const Launch& launch) {
  if (sink == nullptr) {
    return launch(CountDatagrams(flags.count, reception.delivered));
  }
  auto ring = MakeRing({.name = "delivery",
                        .capacity = kRingPackets,
                        .when_full = flags.when_full});
  if (!ring.ok()) return ring.status();
  absl::Status done = launch(std::move(ring->to));
  if (!done.ok()) return done;
  return app.Launch(
      {.near = numa_node},
      Pipeline{std::move(ring->from),
               Deliver(std::move(sink), flags.count, reception.delivered)});
}

// Several ports: a pipeline each, into one that follows numbers.
absl::Status LaunchLines(App& app, std::vector<Front> fronts, Sequence sequence,
                         const RecvFlags& flags, std::shared_ptr<Sink> sink,
                         const Reception& reception) {
  auto ring = SharedRing::Create({.name = "lines", .capacity = kRingPackets});
  if (!ring.ok()) return ring.status();
  // All ends before a pipeline is launched.
  FromSharedRing from = ring->MakeInlet();
  std::vector<ToSharedRing> to;
  for (size_t i = 0; i < fronts.size(); ++i) to.push_back(ring->MakeOutlet());
  const int numa_node = fronts[0].port->numa_node();
  for (size_t i = 0; i < fronts.size(); ++i) {
    absl::Status done = LaunchInto(app, std::move(fronts[i]), std::move(to[i]));
    if (!done.ok()) return done;
  }
  return LaunchDelivery(
      app, flags, numa_node, std::move(sink), reception, [&](auto outlet) {
        return app.Launch(
            {.near = numa_node},
            Pipeline{std::move(from), std::move(sequence), std::move(outlet)});
      });
}

}  // namespace

ReassemblyOptions RecvReassembly() {
  ReassemblyOptions options;
  options.max_fragments_per_datagram = 128;
  return options;
}

absl::StatusOr<Reception> LaunchRecv(App& app,
                                     const std::vector<RecvPort>& ports,
                                     const RecvFlags& flags,
                                     std::shared_ptr<Sink> sink) {
  Reception reception;
  std::vector<Front> fronts;
  for (size_t i = 0; i < ports.size(); ++i) {
    auto front = MakeFront(ports, i, flags, reception);
    if (!front.ok()) return front.status();
    fronts.push_back(*std::move(front));
  }
  std::optional<Sequence> sequence;
  if (flags.sequence) {
    auto made = Sequence::Create(*flags.sequence);
    if (!made.ok()) return made.status();
    sequence.emplace(*std::move(made));
    reception.sequence = sequence->stats();
    reception.pairs = flags.sequence->pairs;
  }
  absl::Status done;
  if (fronts.size() > 1) {
    done = LaunchLines(app, std::move(fronts), *std::move(sequence), flags,
                       std::move(sink), reception);
  } else {
    done = LaunchDelivery(
        app, flags, ports[0].port->numa_node(), std::move(sink), reception,
        [&](auto outlet) {
          return sequence
                     ? LaunchInto(app, std::move(fronts[0]), std::move(outlet),
                                  *std::move(sequence))
                     : LaunchInto(app, std::move(fronts[0]), std::move(outlet));
        });
  }
  if (!done.ok()) return done;
  return reception;
}

}  // namespace weir::mcast
