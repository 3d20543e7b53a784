#include "weir/hca/backend/netdev.h"

#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "weir/base/errno_status.h"
#include "weir/base/unique_fd.h"

namespace weir::hca {
namespace {

std::vector<std::string> NetdevNames() {
  std::vector<std::string> names;
  const std::unique_ptr<struct if_nameindex, decltype(&if_freenameindex)> all(
      if_nameindex(), &if_freenameindex);
  if (all == nullptr) return names;
  for (const struct if_nameindex* entry = all.get(); entry->if_index != 0;
       ++entry) {
    names.emplace_back(entry->if_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status NoSuchNetdev(const std::string& name, absl::string_view object) {
  return absl::NotFoundError(absl::StrCat(object, ": no such netdev \"", name,
                                          "\"; found ",
                                          absl::StrJoin(NetdevNames(), ", ")));
}

// The attribute is missing for virtual netdevs and -1 without NUMA.
int NumaNode(const std::string& name) {
  std::ifstream file("/sys/class/net/" + name + "/device/numa_node");
  int node = -1;
  if (!(file >> node)) return -1;
  return node;
}

}  // namespace

absl::StatusOr<NetdevFacts> QueryNetdev(const std::string& name,
                                        absl::string_view object) {
  ifreq request{};
  if (name.empty() || name.size() >= sizeof request.ifr_name) {
    return NoSuchNetdev(name, object);
  }
  std::memcpy(request.ifr_name, name.data(), name.size());
  // Any socket carries these requests, and this kind needs no privilege.
  const UniqueFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) {
    return ErrnoStatus(errno, {.object = object, .call = "socket(AF_INET)"});
  }
  NetdevFacts facts{.name = name,
                    .index = 0,
                    .mac = {},
                    .mtu_bytes = 0,
                    .numa_node = NumaNode(name)};
  if (ioctl(fd.get(), SIOCGIFINDEX, &request) != 0) {
    return NoSuchNetdev(name, object);
  }
  facts.index = request.ifr_ifindex;
  if (ioctl(fd.get(), SIOCGIFMTU, &request) != 0) {
    return ErrnoStatus(errno, {.object = object, .call = "ioctl(SIOCGIFMTU)"});
  }
  facts.mtu_bytes = static_cast<uint32_t>(request.ifr_mtu);
  if (ioctl(fd.get(), SIOCGIFHWADDR, &request) != 0) {
    return ErrnoStatus(errno,
                       {.object = object, .call = "ioctl(SIOCGIFHWADDR)"});
  }
  if (request.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
    return absl::InvalidArgumentError(absl::StrCat(
        object, ": ", name, " is not an Ethernet netdev (ARP hardware type ",
        request.ifr_hwaddr.sa_family, ")"));
  }
  std::memcpy(&facts.mac, request.ifr_hwaddr.sa_data, sizeof facts.mac);
  return facts;
}

}  // namespace weir::hca
