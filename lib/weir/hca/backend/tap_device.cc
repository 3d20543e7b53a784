#include "weir/hca/backend/tap_device.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"

namespace weir::hca {
namespace {

constexpr char kClonePath[] = "/dev/net/tun";

constexpr absl::string_view kNeedsNetAdmin =
    "needs CAP_NET_ADMIN: run as root, or `setcap cap_net_admin+ep PROGRAM`, "
    "or "
    "let root make it with `ip tuntap add NAME mode tap user USER`, `ip link "
    "set NAME up`";

// As dev_valid_name of Linux has it, without patterns such as "tap%d".
bool IsNetdevName(absl::string_view name) {
  const auto is_bad = [](char c) {
    return c == '/' || c == ':' || c == '%' || c <= ' ' || c > '~';
  };
  return !name.empty() && name.size() < IFNAMSIZ && name != "." &&
         name != ".." && std::none_of(name.begin(), name.end(), is_bad);
}

absl::string_view RemedyOf(int error) {
  return error == EPERM || error == EACCES ? kNeedsNetAdmin : "";
}

ifreq RequestFor(const std::string& name) {
  ifreq request{};
  std::memcpy(request.ifr_name, name.data(), name.size());
  return request;
}

absl::StatusOr<UniqueFd> OpenClone(absl::string_view object) {
  UniqueFd fd(open(kClonePath, O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (fd.is_open()) return fd;
  const bool is_missing = errno == ENOENT || errno == ENODEV || errno == ENXIO;
  return ErrnoStatus(
      errno, {.object = object,
              .call = "open(/dev/net/tun)",
              .remedy = is_missing ? "needs the kernel's TAP driver: `modprobe "
                                     "tun`, or a container that is given "
                                     "/dev/net/tun"
                                   : RemedyOf(errno)});
}

// Joins the descriptor to the netdev, which is made if there is none.
absl::Status Attach(int fd, const std::string& name, absl::string_view object) {
  ifreq request = RequestFor(name);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (ioctl(fd, TUNSETIFF, &request) == 0) return absl::OkStatus();
  int error = errno;
  if (error == EINVAL) {
    // A TAP of several queues wants to be asked for as such.
    request = RequestFor(name);
    request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE;
    if (ioctl(fd, TUNSETIFF, &request) == 0) return absl::OkStatus();
    error = errno;
  }
  if (error == EINVAL) {
    return absl::InvalidArgumentError(absl::StrCat(
        object, ": netdev \"", name,
        "\" is there and not a TAP; use another name, or packet:", name));
  }
  if (error == EBUSY) {
    return absl::FailedPreconditionError(
        absl::StrCat(object, ": TAP \"", name,
                     "\" is open in another program or by another port; end "
                     "that, or use another name"));
  }
  return ErrnoStatus(error, {.object = object,
                             .call = "ioctl(TUNSETIFF)",
                             .remedy = RemedyOf(error)});
}

// Whoever owns a TAP may attach to it, but only CAP_NET_ADMIN may change it:
// what is right already is left alone.
absl::Status SetMtu(int socket_fd, const std::string& name, uint32_t mtu_bytes,
                    absl::string_view object) {
  ifreq request = RequestFor(name);
  if (ioctl(socket_fd, SIOCGIFMTU, &request) == 0 &&
      request.ifr_mtu == static_cast<int>(mtu_bytes)) {
    return absl::OkStatus();
  }
  request = RequestFor(name);
  request.ifr_mtu = static_cast<int>(mtu_bytes);
  if (ioctl(socket_fd, SIOCSIFMTU, &request) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, {.object = object,
                             .call = "ioctl(SIOCSIFMTU)",
                             .remedy = RemedyOf(errno)});
}

absl::Status BringUp(int socket_fd, const std::string& name,
                     absl::string_view object) {
  ifreq request = RequestFor(name);
  if (ioctl(socket_fd, SIOCGIFFLAGS, &request) != 0) {
    return ErrnoStatus(errno,
                       {.object = object, .call = "ioctl(SIOCGIFFLAGS)"});
  }
  if ((request.ifr_flags & IFF_UP) != 0) return absl::OkStatus();
  request.ifr_flags =
      static_cast<decltype(request.ifr_flags)>(request.ifr_flags | IFF_UP);
  if (ioctl(socket_fd, SIOCSIFFLAGS, &request) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, {.object = object,
                             .call = "ioctl(SIOCSIFFLAGS)",
                             .remedy = RemedyOf(errno)});
}

}  // namespace

absl::StatusOr<TapDevice> OpenTapDevice(const std::string& name,
                                        std::optional<uint32_t> mtu_bytes,
                                        absl::string_view object) {
  if (!IsNetdevName(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        object, ": \"", name, "\" cannot name a netdev; want 1 to ",
        IFNAMSIZ - 1, " printable characters without '/', ':', '%'"));
  }
  absl::StatusOr<UniqueFd> fd = OpenClone(object);
  if (!fd.ok()) return fd.status();
  absl::Status status = Attach(fd->get(), name, object);
  if (!status.ok()) return status;
  // No checksum and no segmentation is left to us, whatever the last user of a
  // persistent TAP had asked for.
  if (ioctl(fd->get(), TUNSETOFFLOAD, 0) != 0) {
    return ErrnoStatus(errno,
                       {.object = object, .call = "ioctl(TUNSETOFFLOAD)"});
  }
  // Any socket carries these requests.
  const UniqueFd socket_fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket_fd.is_open()) {
    return ErrnoStatus(errno, {.object = object, .call = "socket(AF_INET)"});
  }
  if (mtu_bytes.has_value()) {
    status = SetMtu(socket_fd.get(), name, *mtu_bytes, object);
    if (!status.ok()) return status;
  }
  status = BringUp(socket_fd.get(), name, object);
  if (!status.ok()) return status;
  absl::StatusOr<NetdevFacts> netdev = QueryNetdev(name, object);
  if (!netdev.ok()) return netdev.status();
  return TapDevice{.fd = *std::move(fd), .netdev = *std::move(netdev)};
}

}  // namespace weir::hca
