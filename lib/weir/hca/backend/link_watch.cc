#include "weir/hca/backend/link_watch.h"

#include <linux/filter.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "weir/base/big_endian.h"
#include "weir/base/errno_status.h"

namespace weir::hca {
namespace {

// A link is what the netdev is when it is up and its carrier is (netdevice(7)).
constexpr unsigned kLinkFlags = IFF_UP | IFF_RUNNING;

// Where a message about a netdev (rtnetlink(7)) has what the filter looks at.
constexpr uint32_t kTypeAt = offsetof(nlmsghdr, nlmsg_type);
constexpr uint32_t kIndexAt = NLMSG_HDRLEN + offsetof(ifinfomsg, ifi_index);
constexpr uint32_t kFlagsAt = NLMSG_HDRLEN + offsetof(ifinfomsg, ifi_flags);

// Filters load words as if they were big endian.
uint32_t AsLoaded(uint32_t value) { return std::bit_cast<Be32>(value).host(); }
uint32_t AsLoaded(uint16_t value) { return std::bit_cast<Be16>(value).host(); }

}  // namespace

absl::StatusOr<LinkWatch> LinkWatch::Create(int index,
                                            absl::string_view object) {
  UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
                     NETLINK_ROUTE));
  if (!fd.is_open()) {
    return ErrnoStatus(errno, {.object = object, .call = "socket(AF_NETLINK)"});
  }
  LinkWatch watch(std::move(fd), index);
  watch.ExpectChangeFrom(LinkState::kUp);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_LINK;
  if (bind(watch.fd(), reinterpret_cast<const sockaddr*>(&address),
           sizeof address) != 0) {
    return ErrnoStatus(errno, {.object = object, .call = "bind(AF_NETLINK)"});
  }
  return watch;
}

LinkWatch::LinkWatch(UniqueFd fd, int index) noexcept
    : fd_(std::move(fd)), index_(index) {}

LinkState LinkWatch::Read() noexcept {
  LinkState state = Ask();
  for (;;) {
    ExpectChangeFrom(state);
    Drain();
    // A change before the filter was there has made no message.
    const LinkState now = Ask();
    if (now == state) return state;
    state = now;
  }
}

bool LinkWatch::IsDown() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const int64_t now_ns = now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
  if (now_ns != asked_at_ns_) {
    asked_at_ns_ = now_ns;
    is_down_ = Ask() == LinkState::kDown;
    mtu_bytes_ = AskMtu();
  }
  return is_down_;
}

LinkState LinkWatch::Ask() const noexcept {
  ifreq request{};
  // By index: a netdev may be renamed, and its name given to another.
  request.ifr_ifindex = index_;
  if (ioctl(fd_.get(), SIOCGIFNAME, &request) != 0 ||
      ioctl(fd_.get(), SIOCGIFFLAGS, &request) != 0) {
    return LinkState::kLost;
  }
  const auto flags = static_cast<unsigned>(request.ifr_flags);
  return (flags & kLinkFlags) == kLinkFlags ? LinkState::kUp : LinkState::kDown;
}

uint32_t LinkWatch::AskMtu() const noexcept {
  ifreq request{};
  request.ifr_ifindex = index_;
  if (ioctl(fd_.get(), SIOCGIFNAME, &request) != 0 ||
      ioctl(fd_.get(), SIOCGIFMTU, &request) != 0) {
    return 0;
  }
  return static_cast<uint32_t>(request.ifr_mtu);
}

// Lets through what says that the netdev is gone or that its link is not as in
// `state`: a netdev that changes in other ways must not wake anybody.
void LinkWatch::ExpectChangeFrom(LinkState state) noexcept {
  const uint8_t up_skips = state == LinkState::kUp ? 1 : 0;
  const auto down_skips = static_cast<uint8_t>(1 - up_skips);
  const uint32_t index = AsLoaded(static_cast<uint32_t>(index_));
  const uint32_t link = AsLoaded(uint32_t{kLinkFlags});
  std::array<sock_filter, 9> program = {{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, kIndexAt},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 6, index},
      {BPF_LD | BPF_H | BPF_ABS, 0, 0, kTypeAt},
      {BPF_JMP | BPF_JEQ | BPF_K, 3, 0, AsLoaded(uint16_t{RTM_DELLINK})},
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, kFlagsAt},
      {BPF_ALU | BPF_AND | BPF_K, 0, 0, link},
      {BPF_JMP | BPF_JEQ | BPF_K, up_skips, down_skips, link},
      {BPF_RET | BPF_K, 0, 0, UINT32_MAX},
      {BPF_RET | BPF_K, 0, 0, 0},
  }};
  const sock_fprog whole = {.len = program.size(), .filter = program.data()};
  setsockopt(fd_.get(), SOL_SOCKET, SO_ATTACH_FILTER, &whole, sizeof whole);
}

void LinkWatch::Drain() noexcept {
  std::array<std::byte, 64> message;
  // An overrun is an error once, and then the rest is there.
  while (recv(fd_.get(), message.data(), message.size(), MSG_TRUNC) >= 0 ||
         errno == ENOBUFS || errno == EINTR) {
  }
}

}  // namespace weir::hca
