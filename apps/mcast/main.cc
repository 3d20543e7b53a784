// Multicast in user space: receives datagrams of groups, sends and relays them.

#include "absl/status/status.h"
#include "apps/mcast/recv.h"
#include "apps/mcast/relay.h"
#include "apps/mcast/send.h"
#include "weir/app/app.h"
#include "weir/app/app_main.h"

namespace {

absl::Status Mcast(weir::App& app) {
  if (app.command() == "recv") return weir::mcast::Recv(app);
  if (app.command() == "relay") return weir::mcast::Relay(app);
  return weir::mcast::Send(app);
}

}  // namespace

int main(int argc, char** argv) {
  return weir::AppMain(
      argc, argv,
      {.about = "Receives UDP datagrams of multicast groups, relays groups to "
                "another link, or sends to them.",
       .examples = "recv packet:eth0 --group=239.1.2.3 --udp_port=5000\n"
                   "recv xdp:eth0 --group=239.1.2.3,239.1.2.4 --udp_port=5000 "
                   "--source=192.0.2.7 --to=file:payload\n"
                   "recv packet:eth0 --group=ff3e::8000:1 --udp_port=5000 "
                   "--to=udp:127.0.0.1:6000\n"
                   "relay packet:eth0 packet:eth1\n"
                   "send packet:eth0 --group=239.1.2.3 --udp_port=5000\n"
                   "send xdp:eth0 --group=239.1.2.3 --udp_port=5000 "
                   "--size=9000 --rate=100000 --sequence=weir\n"
                   "send packet:eth0 --group=ff3e::8000:1 --udp_port=5000 "
                   "--file=picture.jpg\n"
                   "send pcap:,out=out.pcap --group=239.1.2.3 --udp_port=5000 "
                   "--ip=192.0.2.1 --count=3\n",
       .commands = {"recv", "relay", "send"},
       .command_flags = {{"both_ways", {"relay"}},
                         {"count", {"recv", "send"}},
                         {"file", {"send"}},
                         {"igmp_version", {"recv"}},
                         {"ip", {"recv", "send"}},
                         {"ip_in", {"relay"}},
                         {"ip_out", {"relay"}},
                         {"max_groups", {"relay"}},
                         {"mld_version", {"recv"}},
                         {"query_interval", {"relay"}},
                         {"rate", {"send"}},
                         {"rtp_clock", {"recv"}},
                         {"sequence", {"recv", "send"}},
                         {"size", {"send"}},
                         {"source", {"recv"}},
                         {"source_port", {"send"}},
                         {"split", {"send"}},
                         {"static", {"relay"}},
                         {"stdin", {"send"}},
                         {"to", {"recv"}},
                         {"ttl", {"send"}},
                         {"udp_port", {"recv", "send"}},
                         {"when_full", {"recv"}}}},
      Mcast);
}
