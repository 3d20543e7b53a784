// Multicast in user space: sends datagrams to a group.

#include "absl/status/status.h"
#include "apps/mcast/send.h"
#include "weir/app/app.h"
#include "weir/app/app_main.h"

namespace {

absl::Status Mcast(weir::App& app) { return weir::mcast::Send(app); }

}  // namespace

int main(int argc, char** argv) {
  return weir::AppMain(
      argc, argv,
      {.about = "Sends UDP datagrams to a multicast group.",
       .examples = "send packet:eth0 --group=239.1.2.3 --udp_port=5000\n"
                   "send xdp:eth0 --group=239.1.2.3 --udp_port=5000 "
                   "--size=9000 --rate=100000 --sequence=weir\n"
                   "send packet:eth0 --group=ff3e::8000:1 --udp_port=5000 "
                   "--file=picture.jpg\n"
                   "send pcap:,out=out.pcap --group=239.1.2.3 --udp_port=5000 "
                   "--ip=192.0.2.1 --count=3\n",
       .commands = {"send"}},
      Mcast);
}
