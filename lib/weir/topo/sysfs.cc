#include "weir/topo/sysfs.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace weir {
namespace {

// ARPHRD_ETHER of <linux/if_arp.h>.
constexpr int kTypeEthernet = 1;

// First line of a file, empty if it cannot be read.
std::string ReadLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The number in a file, decimal or with 0x; nothing if there is none.
std::optional<int> ReadNumber(const std::string& path) {
  const std::string line = ReadLine(path);
  int number = 0;
  if (absl::SimpleAtoi(line, &number)) return number;
  if (absl::SimpleHexAtoi(line, &number)) return number;
  return std::nullopt;
}

// Names in a directory, sorted; none if it cannot be read.
std::vector<std::string> List(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(path, error), end;
       !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// A name that would lead out of its directory is no name.
bool IsName(absl::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find('/') == absl::string_view::npos;
}

}  // namespace

std::vector<std::string> Sysfs::EthernetNetdevs() const {
  std::vector<std::string> names;
  for (std::string& name : List(absl::StrCat(root_, "/class/net"))) {
    if (ReadNumber(absl::StrCat(root_, "/class/net/", name, "/type")) ==
        kTypeEthernet) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

std::optional<NetdevFacts> Sysfs::Netdev(absl::string_view name) const {
  if (!IsName(name)) return std::nullopt;
  const std::string path = absl::StrCat(root_, "/class/net/", name);
  const std::optional<int> mtu_bytes = ReadNumber(absl::StrCat(path, "/mtu"));
  if (!mtu_bytes || *mtu_bytes <= 0) return std::nullopt;
  NetdevFacts facts;
  facts.mtu_bytes = static_cast<uint32_t>(*mtu_bytes);
  facts.mac = ReadLine(absl::StrCat(path, "/address"));
  facts.numa_node =
      ReadNumber(absl::StrCat(path, "/device/numa_node")).value_or(-1);
  return facts;
}

std::string Sysfs::NetdevOf(const RdmaPort& port) const {
  if (!IsName(port.device)) return {};
  const std::string path =
      absl::StrCat(root_, "/class/infiniband/", port.device, "/device/net");
  const std::vector<std::string> netdevs = List(path);
  for (const absl::string_view file : {"dev_port", "dev_id"}) {
    std::vector<std::string> matches;
    for (const std::string& netdev : netdevs) {
      if (ReadNumber(absl::StrCat(path, "/", netdev, "/", file)) ==
          port.port - 1) {
        matches.push_back(netdev);
      }
    }
    if (matches.size() == 1) return matches[0];
  }
  return netdevs.size() == 1 ? netdevs[0] : std::string();
}

std::vector<RdmaPort> Sysfs::RdmaPortsOf(absl::string_view netdev) const {
  std::vector<RdmaPort> ports;
  if (!IsName(netdev)) return ports;
  for (const std::string& device :
       List(absl::StrCat(root_, "/class/net/", netdev, "/device/infiniband"))) {
    for (const std::string& number :
         List(absl::StrCat(root_, "/class/infiniband/", device, "/ports"))) {
      int port = 0;
      if (!absl::SimpleAtoi(number, &port) || port < 1 || port > 255) continue;
      RdmaPort candidate{device, static_cast<uint8_t>(port)};
      if (NetdevOf(candidate) == netdev) ports.push_back(std::move(candidate));
    }
  }
  return ports;
}

int Sysfs::NumaNodeOfRdma(absl::string_view device) const {
  if (!IsName(device)) return -1;
  return ReadNumber(absl::StrCat(root_, "/class/infiniband/", device,
                                 "/device/numa_node"))
      .value_or(-1);
}

int Sysfs::NumaNodeOfPci(absl::string_view address) const {
  if (!IsName(address)) return -1;
  return ReadNumber(
             absl::StrCat(root_, "/bus/pci/devices/", address, "/numa_node"))
      .value_or(-1);
}

}  // namespace weir
