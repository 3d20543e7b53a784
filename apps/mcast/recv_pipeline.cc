#include "apps/mcast/recv_pipeline.h"

#include <algorithm>
#include <random>
#include <utility>

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
// group was joined end at its host.
struct Hosts {
  IgmpHost igmp;
  MldHost mld;
  PortGroups::Hosts control;
};

GroupHostOptions HostOptions(uint8_t version) {
  return {.version = version, .seed = std::random_device{}()};
}

absl::StatusOr<Hosts> MakeHosts(const Port& port, const RecvFlags& flags,
                                const HostAddresses& addresses) {
  IgmpOptions igmp_options;
  igmp_options.sender = {.mac = port.mac(),
                         .address = addresses.ipv4.value_or(net::Ipv4Address{}),
                         .vlan = flags.vlan};
  igmp_options.mtu_bytes = port.mtu_bytes();
  igmp_options.host = HostOptions(flags.igmp_version);
  auto igmp = IgmpHost::Create(igmp_options);
  if (!igmp.ok()) return igmp.status();
  MldOptions mld_options;
  mld_options.sender = {.mac = port.mac(),
                        .address = addresses.ipv6.value_or(net::Ipv6Address{}),
                        .vlan = flags.vlan};
  mld_options.mtu_bytes = port.mtu_bytes();
  mld_options.host = HostOptions(flags.mld_version);
  auto mld = MldHost::Create(mld_options);
  if (!mld.ok()) return mld.status();
  Hosts hosts{std::move(igmp->stage), std::move(mld->stage), {}};
  if (addresses.ipv4) hosts.control.igmp = std::move(igmp->control);
  if (addresses.ipv6) hosts.control.mld = std::move(mld->control);
  return hosts;
}

// Everything between the port and `outlet`. A stage that looks at datagrams
// goes behind SelectUdp.
template <typename Out>
absl::Status LaunchInto(App& app, Port& port, Hosts hosts,
                        Reassemble reassemble, SelectUdp select, Out outlet) {
  return app.Launch(
      {.near = port.numa_node()},
      Pipeline{std::move(port.rx[0]), Parse{}, std::move(hosts.igmp),
               std::move(hosts.mld), std::move(reassemble), VerifyChecksums{},
               std::move(select),
               TransmitBothWays{std::move(outlet), std::move(port.tx[0])}});
}

absl::Status Join(PortGroups& groups, const RecvFlags& flags) {
  for (const RecvFlags::Wanted& wanted : flags.groups) {
    absl::Status joined = groups.Join(wanted.group, wanted.interest);
    if (!joined.ok()) return joined;
  }
  return absl::OkStatus();
}

}  // namespace

ReassemblyOptions RecvReassembly() {
  ReassemblyOptions options;
  options.max_fragments_per_datagram = 128;
  return options;
}

absl::StatusOr<Reception> LaunchRecv(App& app, Port& port,
                                     const RecvFlags& flags,
                                     const HostAddresses& addresses,
                                     std::shared_ptr<Sink> sink) {
  auto reassemble = Reassemble::Create(RecvReassembly());
  if (!reassemble.ok()) return reassemble.status();
  auto hosts = MakeHosts(port, flags, addresses);
  if (!hosts.ok()) return hosts.status();
  Reception reception;
  auto groups = PortGroups::Create(port.steering(), port.monitor(),
                                   std::move(hosts->control));
  if (!groups.ok()) return groups.status();
  reception.groups = *std::move(groups);
  absl::Status done = Join(*reception.groups, flags);
  if (!done.ok()) return done;
  SelectUdp select(flags.udp_port, reception.received);
  if (sink == nullptr) {
    done = LaunchInto(app, port, *std::move(hosts), *std::move(reassemble),
                      std::move(select),
                      CountDatagrams(flags.count, reception.delivered));
    if (!done.ok()) return done;
    return reception;
  }
  auto ring = MakeRing({.name = "delivery",
                        .capacity = kRingPackets,
                        .when_full = flags.when_full});
  if (!ring.ok()) return ring.status();
  done = LaunchInto(app, port, *std::move(hosts), *std::move(reassemble),
                    std::move(select), std::move(ring->to));
  if (done.ok()) {
    done = app.Launch(
        {.near = port.numa_node()},
        Pipeline{std::move(ring->from),
                 Deliver(std::move(sink), flags.count, reception.delivered)});
  }
  if (!done.ok()) return done;
  return reception;
}

}  // namespace weir::mcast
