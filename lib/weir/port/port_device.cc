#include "weir/port/port_device.h"

#include <net/if.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "weir/port/port_files.h"
#include "weir/topo/sysfs.h"
#include "weir/verbs/completion_queue.h"
#include "weir/verbs/protection_domain.h"
#include "weir/verbs/queue_pair.h"
#include "weir/verbs/soft_hca.h"

namespace weir {
namespace {

// A verbs device and one of its ports, and the reason to take it.
struct Choice {
  std::shared_ptr<verbs::Device> device;
  uint8_t port = 1;
  std::string chosen;
};

absl::StatusOr<Choice> OpenVerbs(absl::string_view device, uint8_t port,
                                 std::string chosen) {
  absl::StatusOr<verbs::Device> opened = verbs::Device::Open(device);
  if (!opened.ok()) return opened.status();
  return Choice{std::make_shared<verbs::Device>(*std::move(opened)), port,
                std::move(chosen)};
}

absl::StatusOr<Choice> OpenSoft(absl::string_view key, std::string chosen) {
  absl::StatusOr<std::string> device = verbs::AddSoftDevice(key);
  if (!device.ok()) return device.status();
  return OpenVerbs(*device, 1, absl::StrCat(chosen, " as ", *device));
}

// "mlx5_0" or "mlx5_0:2", if there is such a device.
std::optional<RdmaPort> AsVerbsName(absl::string_view name,
                                    const std::vector<std::string>& devices) {
  for (const std::string& device : devices) {
    absl::string_view rest = name;
    if (!absl::ConsumePrefix(&rest, device)) continue;
    if (rest.empty()) return RdmaPort{device, 1};
    int port = 0;
    if (absl::ConsumePrefix(&rest, ":") && absl::SimpleAtoi(rest, &port) &&
        port >= 1 && port <= 255) {
      return RdmaPort{device, static_cast<uint8_t>(port)};
    }
  }
  return std::nullopt;
}

// Whether the device can do raw packets, by trying. A device that says it has
// raw queue pairs is taken even if the user may not create one: that error is
// the one to report.
bool HasRawPackets(const verbs::Device& device) {
  if (device.attributes().max_raw_ethy_qp > 0) return true;
  const auto domain = verbs::ProtectionDomain::Create(device);
  if (!domain.ok()) return false;
  const auto cq = verbs::CompletionQueue::Create(device, 1);
  if (!cq.ok()) return false;
  return verbs::QueuePair::Create(*domain, *cq, *cq, {.receive_depth = 1}).ok();
}

absl::StatusOr<Choice> OpenNetdev(absl::string_view name) {
  std::string reason = "it has no RDMA device";
  for (const RdmaPort& rdma : Sysfs().RdmaPortsOf(name)) {
    absl::StatusOr<Choice> choice =
        OpenVerbs(rdma.device, rdma.port,
                  absl::StrCat(name, ": port ", static_cast<int>(rdma.port),
                               " of its RDMA device ", rdma.device));
    if (choice.ok() && HasRawPackets(*choice->device)) return choice;
    reason = absl::StrCat(
        "its RDMA device ", rdma.device,
        choice.ok() ? " cannot do raw packets" : " cannot be opened");
  }
  std::string key = absl::StrCat("xdp:", name);
  absl::StatusOr<Choice> xdp =
      OpenSoft(key, absl::StrCat(name, ": ", reason, ", taking ", key));
  if (xdp.ok()) return xdp;
  key = absl::StrCat("packet:", name);
  return OpenSoft(key,
                  absl::StrCat(name, ": ", reason, ", AF_XDP says \"",
                               xdp.status().message(), "\", taking ", key));
}

absl::StatusOr<Choice> Choose(absl::string_view name,
                              PortDevice::Purpose purpose) {
  std::vector<std::string> found = verbs::DeviceNames();
  const std::optional<RdmaPort> rdma = AsVerbsName(name, found);
  if (rdma) {
    return OpenVerbs(rdma->device, rdma->port,
                     absl::StrCat(name, ": port ", static_cast<int>(rdma->port),
                                  " of verbs device ", rdma->device));
  }
  if (name.find(':') != absl::string_view::npos) {
    const bool runs = purpose == PortDevice::Purpose::kRun;
    return OpenSoft(runs ? std::string(name) : WithoutOutput(name),
                    absl::StrCat(name, ": soft device"));
  }
  // A process that entered a network namespace may still see the sysfs of
  // another one.
  if (Sysfs().Netdev(name) || if_nametoindex(std::string(name).c_str()) != 0) {
    return OpenNetdev(name);
  }
  for (std::string& netdev : Sysfs().EthernetNetdevs()) {
    found.push_back(std::move(netdev));
  }
  return absl::NotFoundError(
      absl::StrCat(name, ": no such verbs device or netdev; found ",
                   found.empty() ? "none" : absl::StrJoin(found, ", ")));
}

// Facts that a soft device tells itself.
void FillSoft(const verbs::SoftDeviceInfo& soft, PortInfo& info) {
  info.is_soft = true;
  info.netdev = soft.netdev;
  info.mac = soft.mac;
  info.mtu_bytes = soft.mtu_bytes;
  info.numa_node = soft.numa_node;
  if (!soft.mode.empty()) absl::StrAppend(&info.chosen, " (", soft.mode, ")");
}

// Facts of a real device, which are those of its netdev: the MTU of the verbs
// port does not bound raw packets.
absl::Status FillReal(const Choice& choice, PortInfo& info) {
  const absl::StatusOr<ibv_port_attr> port =
      choice.device->QueryPort(choice.port);
  if (!port.ok()) return port.status();
  const Sysfs sysfs;
  info.netdev = sysfs.NetdevOf({info.device, choice.port});
  const std::optional<NetdevFacts> netdev = sysfs.Netdev(info.netdev);
  const std::optional<net::MacAddress> mac =
      netdev ? net::ParseMacAddress(netdev->mac) : std::nullopt;
  if (!mac) {
    return absl::FailedPreconditionError(absl::StrCat(
        info.device, ":", static_cast<int>(choice.port),
        ": has no netdev in this network namespace, so its MAC and MTU are "
        "not known; run in the namespace of its netdev"));
  }
  info.mac = *mac;
  info.mtu_bytes = netdev->mtu_bytes;
  info.numa_node = sysfs.NumaNodeOfRdma(info.device);
  return absl::OkStatus();
}

// Identity as far as the name of a port tells.
std::string NameIdentity(absl::string_view name) {
  absl::string_view netdev = name;
  if (absl::ConsumePrefix(&netdev, "packet:") ||
      absl::ConsumePrefix(&netdev, "xdp:")) {
    return absl::StrCat("netdev ", netdev.substr(0, netdev.find(',')));
  }
  return FileIdentity(FilesOfPort(name).output);
}

absl::Status GivenTwice(absl::string_view first, absl::string_view second,
                        absl::string_view identity) {
  return absl::InvalidArgumentError(
      absl::StrCat(second, ": ", identity, " is given twice, first by port ",
                   first, "; give each port once"));
}

std::string Identity(const PortInfo& info) {
  if (!info.netdev.empty()) return absl::StrCat("netdev ", info.netdev);
  if (!info.is_soft) {
    return absl::StrCat("device ", info.device, ":",
                        static_cast<int>(info.device_port));
  }
  return FileIdentity(FilesOfPort(info.name).output);
}

}  // namespace

absl::StatusOr<PortDevice> PortDevice::Open(absl::string_view name,
                                            Purpose purpose) {
  absl::StatusOr<Choice> choice = Choose(name, purpose);
  if (!choice.ok()) return choice.status();
  PortInfo info;
  info.name = std::string(name);
  info.device = choice->device->name();
  info.device_port = choice->port;
  info.chosen = choice->chosen;
  info.can_spread = choice->device->rss().can_spread();
  const std::optional<verbs::SoftDeviceInfo> soft =
      verbs::QuerySoftDevice(choice->device->context());
  if (soft) {
    FillSoft(*soft, info);
  } else {
    const absl::Status filled = FillReal(*choice, info);
    if (!filled.ok()) return filled;
  }
  std::string identity = Identity(info);
  return PortDevice(std::move(info), std::move(identity),
                    std::move(choice->device));
}

absl::Status CheckDistinctNames(std::span<const std::string> names) {
  std::vector<std::string> identities;
  for (const std::string& name : names) {
    std::string identity = NameIdentity(name);
    const auto found = std::ranges::find(identities, identity);
    if (!identity.empty() && found != identities.end()) {
      return GivenTwice(names[static_cast<size_t>(found - identities.begin())],
                        name, identity);
    }
    identities.push_back(std::move(identity));
  }
  return absl::OkStatus();
}

absl::Status CheckDistinct(std::span<const PortDevice> devices) {
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].identity().empty()) continue;
    for (size_t j = 0; j < i; ++j) {
      if (devices[i].identity() != devices[j].identity()) continue;
      return GivenTwice(devices[j].info().name, devices[i].info().name,
                        devices[i].identity());
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
