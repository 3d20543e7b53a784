// Cuts what one port receives for the MTU of another.

#include <arpa/inet.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "weir/app/app.h"
#include "weir/app/app_main.h"
#include "weir/net/group_address.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/pipeline/pipeline.h"
#include "weir/port/port.h"
#include "weir/stage/fragment.h"
#include "weir/stage/parse.h"
#include "weir/stage/transmit.h"
#include "weir/stage/transmit_both_ways.h"

ABSL_FLAG(uint32_t, mtu, 1500,
          "the longest IP packet that may leave, in bytes without layer 2: 68 "
          "to 65535");
ABSL_FLAG(std::string, role, "host",
          "host: cut IPv6 too, drop IPv4 with DF; router: leave IPv6 alone, "
          "tell senders the MTU by ICMP out of the first port");
ABSL_FLAG(std::string, router_ipv4, "",
          "the source of ICMP messages; that of the destination if empty");
ABSL_FLAG(std::string, router_ipv6, "",
          "the source of ICMPv6 messages; that of the destination if empty");

namespace {

// Whether a router may have it (RFC 1122 §3.2.1.3, RFC 4291 §2.5.2).
bool IsOfHost(const weir::net::Ipv4Address& address) {
  return address.octets[0] != 0 && address.octets[0] < 224;
}
bool IsOfHost(const weir::net::Ipv6Address& address) {
  return address != weir::net::Ipv6Address{} && !weir::net::IsGroup(address);
}

// The address in `text`, none if it is empty.
template <typename Address>
absl::StatusOr<std::optional<Address>> ReadAddress(absl::string_view flag,
                                                   int family,
                                                   const std::string& text) {
  if (text.empty()) return std::optional<Address>();
  Address address;
  if (inet_pton(family, text.c_str(), &address) != 1 || !IsOfHost(address)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--", flag, ": want an address of a router such as ",
        family == AF_INET ? "192.0.2.1" : "2001:db8::1", ", got ", text));
  }
  if (absl::GetFlag(FLAGS_role) != "router") {
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, ": only --role=router sends ICMP messages"));
  }
  return std::optional<Address>(address);
}

absl::StatusOr<weir::FragmentRole> ReadRole() {
  const std::string role = absl::GetFlag(FLAGS_role);
  if (role == "host") return weir::FragmentRole::kHost;
  if (role == "router") return weir::FragmentRole::kRouter;
  return absl::InvalidArgumentError(
      absl::StrCat("--role: want host or router, got ", role));
}

absl::StatusOr<weir::FragmentOptions> ReadOptions() {
  weir::FragmentOptions options;
  options.mtu_bytes = absl::GetFlag(FLAGS_mtu);
  const auto role = ReadRole();
  if (!role.ok()) return role.status();
  options.role = *role;
  const auto ipv4 = ReadAddress<weir::net::Ipv4Address>(
      "router_ipv4", AF_INET, absl::GetFlag(FLAGS_router_ipv4));
  if (!ipv4.ok()) return ipv4.status();
  options.router.ipv4 = *ipv4;
  const auto ipv6 = ReadAddress<weir::net::Ipv6Address>(
      "router_ipv6", AF_INET6, absl::GetFlag(FLAGS_router_ipv6));
  if (!ipv6.ok()) return ipv6.status();
  options.router.ipv6 = *ipv6;
  return options;
}

// A stage whose options the flags gave; names them in an error.
absl::StatusOr<weir::Fragment> MakeStage(const weir::FragmentOptions& options) {
  absl::StatusOr<weir::Fragment> stage = weir::Fragment::Create(options);
  if (stage.ok()) return stage;
  return absl::Status(stage.status().code(),
                      absl::StrCat("--mtu: ", stage.status().message()));
}

absl::Status FragmentApp(weir::App& app) {
  absl::StatusOr<weir::FragmentOptions> options = ReadOptions();
  if (!options.ok()) return options.status();
  // Before ports are opened: a wrong flag needs none.
  const absl::Status checked = MakeStage(*options).status();
  if (!checked.ok()) return checked;
  // Fragments on their way out: a header and a reference each.
  const weir::PortOptions port_options;
  auto ports =
      app.OpenPorts({.ports = port_options,
                     .stage_mbufs = 2 * uint64_t{port_options.tx_depth} + 128});
  if (!ports.ok()) return ports.status();
  if (ports->size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("want exactly 2 ports, got ", ports->size()));
  }
  weir::Port& in = (*ports)[0];
  weir::Port& out = (*ports)[1];
  options->max_segments = out.tx[0].max_segments();
  options->router.mac = in.mac();
  absl::StatusOr<weir::Fragment> fragment = MakeStage(*options);
  if (!fragment.ok()) return fragment.status();
  const weir::Placement placement = {.near = in.numa_node()};
  const absl::Status launched =
      options->role == weir::FragmentRole::kHost
          ? app.Launch(placement,
                       weir::Pipeline{std::move(in.rx[0]), weir::Parse{},
                                      *std::move(fragment),
                                      weir::Transmit{std::move(out.tx[0])}})
          : app.Launch(
                placement,
                weir::Pipeline{std::move(in.rx[0]), weir::Parse{},
                               *std::move(fragment),
                               weir::TransmitBothWays{std::move(out.tx[0]),
                                                      std::move(in.tx[0])}});
  if (!launched.ok()) return launched;
  return app.RunUntilSignal();
}

}  // namespace

int main(int argc, char** argv) {
  return weir::AppMain(
      argc, argv,
      {.about = "Cuts what one port receives into fragments for another.",
       .examples = "pcap:in.pcap pcap:,out=out.pcap --mtu=576\n"
                   "pcap:in.pcap,out=answers.pcap pcap:,out=out.pcap "
                   "--role=router --router_ipv4=192.0.2.1\n"
                   "packet:eth0 packet:eth1 --mtu=1280\n"
                   "mlx5_0 mlx5_1 --mtu=1500 --role=router\n"},
      FragmentApp);
}
