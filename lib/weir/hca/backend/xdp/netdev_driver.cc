#include "weir/hca/backend/xdp/netdev_driver.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "weir/base/errno_status.h"
#include "weir/base/unique_fd.h"

namespace weir::hca {
namespace {

// True if the driver answered.
template <typename Request>
bool Ask(int fd, const std::string& netdev, Request& request) {
  ifreq envelope{};
  std::memcpy(envelope.ifr_name, netdev.data(),
              std::min(netdev.size(), sizeof envelope.ifr_name - 1));
  envelope.ifr_data = reinterpret_cast<char*>(&request);
  return ioctl(fd, SIOCETHTOOL, &envelope) == 0;
}

}  // namespace

absl::StatusOr<NetdevDriver> QueryDriver(const std::string& netdev,
                                         absl::string_view object) {
  // Any socket carries these requests, and this kind needs no privilege.
  const UniqueFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) {
    return ErrnoStatus(errno, {.object = object, .call = "socket(AF_INET)"});
  }
  NetdevDriver driver;
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  if (Ask(fd.get(), netdev, info)) {
    info.driver[sizeof info.driver - 1] = '\0';
    driver.name = info.driver;
  }
  // One that does not say has one of each.
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  if (Ask(fd.get(), netdev, channels)) {
    driver.rx_queues = channels.combined_count + channels.rx_count;
    driver.tx_queues = channels.combined_count + channels.tx_count;
  }
  driver.rx_queues = std::max(driver.rx_queues, 1u);
  driver.tx_queues = std::max(driver.tx_queues, 1u);
  return driver;
}

}  // namespace weir::hca
