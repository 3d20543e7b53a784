#include "weir/hca/backend/xdp/xdp_link.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/if_link.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"
#include "weir/hca/backend/xdp/xdp_rights.h"

namespace weir::hca {
namespace {

// What a process that has just ended held is let go of a moment later.
constexpr auto kPatience = std::chrono::seconds(1);
constexpr auto kPause = std::chrono::milliseconds(2);

bool IsTaken(int error) noexcept { return error == EBUSY || error == EEXIST; }

// A new descriptor, or minus an errno value.
int TryAttach(int program_fd, const NetdevFacts& netdev, uint32_t mode) {
  bpf_link_create_opts options{};
  options.sz = sizeof options;
  options.flags = mode;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    const int fd = bpf_link_create(program_fd, netdev.index, BPF_XDP, &options);
    if (!IsTaken(-fd) || std::chrono::steady_clock::now() > deadline) return fd;
    std::this_thread::sleep_for(kPause);
  }
}

// The name of a loaded program, empty if it cannot be asked.
std::string ProgramName(uint32_t id) {
  const UniqueFd fd(bpf_prog_get_fd_by_id(id));
  if (!fd.is_open()) return {};
  bpf_prog_info info{};
  uint32_t bytes = sizeof info;
  if (bpf_obj_get_info_by_fd(fd.get(), &info, &bytes) != 0) return {};
  info.name[sizeof info.name - 1] = '\0';
  return info.name;
}

absl::Status TakenError(const NetdevFacts& netdev, absl::string_view object) {
  bpf_xdp_query_opts options{};
  options.sz = sizeof options;
  uint32_t id = 0;
  if (bpf_xdp_query(netdev.index, 0, &options) == 0) {
    id = std::max({options.prog_id, options.drv_prog_id, options.skb_prog_id});
  }
  const std::string name = id != 0 ? ProgramName(id) : "";
  if (name == "weir_flow") {
    return absl::FailedPreconditionError(
        absl::StrCat(object, ": another program of weir has ", netdev.name,
                     "; end it (`bpftool link` tells its process)"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      object, ": ", netdev.name, " has an XDP program already (\"", name,
      "\", id ", id, "); remove it with `ip link set dev ", netdev.name,
      " xdp off`, or end the process that holds it (`bpftool link`)"));
}

}  // namespace

absl::StatusOr<XdpLink> AttachXdp(int program_fd, const NetdevFacts& netdev,
                                  absl::string_view object) {
  int fd = TryAttach(program_fd, netdev, XDP_FLAGS_DRV_MODE);
  if (fd >= 0) return XdpLink{.fd = UniqueFd(fd), .is_native = true};
  // Else the driver has no XDP, or not with these settings.
  if (!IsTaken(-fd) && fd != -EPERM) {
    fd = TryAttach(program_fd, netdev, XDP_FLAGS_SKB_MODE);
    if (fd >= 0) return XdpLink{.fd = UniqueFd(fd), .is_native = false};
  }
  if (IsTaken(-fd)) return TakenError(netdev, object);
  return ErrnoStatus(
      -fd, {.object = object,
            .call = "attaching the XDP program",
            .remedy = fd == -EPERM ? kXdpRights : "needs Linux 5.9 or later"});
}

}  // namespace weir::hca
