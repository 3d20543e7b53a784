#include "weir/hca/environment.h"

#include <infiniband/verbs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace weir::hca {
namespace {

bool IsEthernetAndUp(int socket_fd, const char* netdev) {
  ifreq request{};
  std::strncpy(request.ifr_name, netdev, IFNAMSIZ - 1);
  if (ioctl(socket_fd, SIOCGIFFLAGS, &request) != 0 ||
      (request.ifr_flags & IFF_UP) == 0) {
    return false;
  }
  return ioctl(socket_fd, SIOCGIFHWADDR, &request) == 0 &&
         request.ifr_hwaddr.sa_family == ARPHRD_ETHER;
}

// What ibv_device has room for, without a part of a character of UTF-8.
std::string ShortName(absl::string_view name) {
  constexpr size_t kMaxBytes = IBV_SYSFS_NAME_MAX - 1;
  if (name.size() <= kMaxBytes) return std::string(name);
  size_t size = kMaxBytes;
  const auto continues = [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
  };
  while (size > 0 && continues(name[size])) --size;
  return std::string(name.substr(0, size));
}

std::string NamesOf(const std::vector<NamedKey>& devices) {
  std::string names;
  for (const NamedKey& device : devices) {
    if (device.name.empty()) continue;
    absl::StrAppend(&names, names.empty() ? "" : ", ", device.name);
  }
  return names.empty() ? "the names that WEIR_HCA_DEVICES gives" : names;
}

}  // namespace

std::vector<NamedKey> SplitDeviceList(absl::string_view text) {
  std::vector<NamedKey> devices;
  for (const absl::string_view part : absl::StrSplit(text, ';')) {
    const absl::string_view entry = absl::StripAsciiWhitespace(part);
    if (entry.empty()) continue;
    // A "=" in front of the first ":" ends a name; others are of options.
    const size_t equals = entry.find('=');
    const bool named = equals < entry.find(':');
    const absl::string_view name = named ? entry.substr(0, equals) : "";
    const absl::string_view key = named ? entry.substr(equals + 1) : entry;
    devices.push_back({.name = ShortName(absl::StripAsciiWhitespace(name)),
                       .key = std::string(absl::StripAsciiWhitespace(key))});
  }
  return devices;
}

std::vector<std::string> AddFaults(absl::string_view text,
                                   std::vector<NamedKey>& devices) {
  std::vector<std::string> problems;
  for (const absl::string_view each : absl::StrSplit(text, ';')) {
    const absl::string_view part = absl::StripAsciiWhitespace(each);
    if (part.empty()) continue;
    const std::pair<absl::string_view, absl::string_view> entry =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    bool is_known = false;
    for (NamedKey& device : devices) {
      if (entry.first.empty() || device.name != entry.first) continue;
      absl::StrAppend(&device.key, ",fault=", entry.second);
      is_known = true;
    }
    if (!is_known) {
      problems.push_back(absl::StrCat(
          "WEIR_HCA_FAULTS: \"", part, "\": no device is called \"",
          entry.first, "\"; want NAME=FAULTS with one of ", NamesOf(devices)));
    }
  }
  return problems;
}

std::vector<NamedKey> DefaultDevices() {
  std::vector<NamedKey> devices = {{.name = "weir_null0", .key = "null:"}};
  const int socket_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  struct if_nameindex* const all = if_nameindex();
  for (auto* each = all; each != nullptr && each->if_name != nullptr; ++each) {
    if (!IsEthernetAndUp(socket_fd, each->if_name)) continue;
    devices.push_back({.name = absl::StrCat("weir_", each->if_name),
                       .key = absl::StrCat("packet:", each->if_name)});
  }
  if (all != nullptr) if_freenameindex(all);
  if (socket_fd >= 0) close(socket_fd);
  return devices;
}

}  // namespace weir::hca
