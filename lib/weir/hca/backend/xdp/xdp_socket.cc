#include "weir/hca/backend/xdp/xdp_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"
#include "weir/hca/backend/packet_socket.h"
#include "weir/hca/backend/xdp/xdp_rights.h"

namespace weir::hca {
namespace {

// sxdp_flags of struct sockaddr_xdp: XDP_USE_SG of Linux 6.6.
constexpr uint16_t kUseSeveralChunks = 1u << 4;
// XDP_MAX_TX_SKB_BUDGET of Linux 6.17: how many frames one call sends, 32
// before.
constexpr int kMaxTxBudgetOption = 9;
// SO_PREFER_BUSY_POLL and SO_BUSY_POLL_BUDGET of Linux 5.11.
constexpr int kPreferBusyPollOption = 69;
constexpr int kBusyPollBudgetOption = 70;
constexpr int kBusyPollMicroseconds = 20;

constexpr int kSendBufferBytes = 16 << 20;

// The kernel lets go of a queue some time after its socket was closed.
constexpr auto kBusyPatience = std::chrono::seconds(2);
constexpr auto kBusyPause = std::chrono::milliseconds(2);

template <typename Value>
absl::Status SetOption(int fd, int option, const Value& value,
                       const FailedCall& failed) {
  if (setsockopt(fd, SOL_XDP, option, &value, sizeof value) == 0) {
    return absl::OkStatus();
  }
  return ErrnoStatus(errno, failed);
}

// What of a ring is where, as the kernel says it.
template <typename Entry>
XdpRingParts<Entry> PartsOf(const Mapping& memory,
                            const xdp_ring_offset& offset) {
  std::byte* base = memory.bytes().data();
  return {.producer = reinterpret_cast<uint32_t*>(base + offset.producer),
          .consumer = reinterpret_cast<uint32_t*>(base + offset.consumer),
          .flags = reinterpret_cast<uint32_t*>(base + offset.flags),
          .entries = {reinterpret_cast<Entry*>(base + offset.desc),
                      XdpSocket::kRingEntries}};
}

template <typename Entry>
absl::Status MapRing(int fd, uint64_t place, const xdp_ring_offset& offset,
                     absl::string_view object, Mapping& memory) {
  const size_t bytes = offset.desc + XdpSocket::kRingEntries * sizeof(Entry);
  memory = Mapping::Shared(fd, place, bytes);
  if (memory.is_mapped()) return absl::OkStatus();
  return ErrnoStatus(errno, {.object = object, .call = "mmap of an XDP ring"});
}

// Takes the frames of a busy queue in our system calls, not in interrupts;
// false if the kernel cannot.
bool SetBusyPoll(int fd, uint32_t frames) noexcept {
  struct Option {
    int name;
    int value;
  };
  const Option options[] = {{kPreferBusyPollOption, 1},
                            {SO_BUSY_POLL, kBusyPollMicroseconds},
                            {kBusyPollBudgetOption, static_cast<int>(frames)}};
  return std::ranges::all_of(options, [fd](const Option& option) {
    return setsockopt(fd, SOL_SOCKET, option.name, &option.value,
                      sizeof option.value) == 0;
  });
}

absl::string_view BindRemedy(int error, bool jumbo) {
  switch (error) {
    case EBUSY:
      return "another AF_XDP socket has this queue; end the program that holds "
             "it, or leave it out if it is one of the last (queues=COUNT)";
    case EINVAL:
      return jumbo ? "frames of more than 3818 bytes need Linux 6.6; lower the "
                     "MTU to 3800"
                   : "the netdev has no such queue; `ethtool -l` shows them";
    case ENOBUFS:
    case ENOMEM:
      return "raise RLIMIT_MEMLOCK (ulimit -l)";
    default:
      return "";
  }
}

}  // namespace

absl::StatusOr<XdpSocket> XdpSocket::Create(const XdpSocketOptions& options,
                                            absl::string_view object) {
  XdpSocket xdp;
  xdp.chunk_bytes_ = options.chunk_bytes;
  absl::Status status = xdp.Setup(options, object);
  if (!status.ok()) return status;
  status = xdp.MapRings(object);
  if (!status.ok()) return status;
  for (uint32_t i = 0; i < kRxChunks; ++i) xdp.fill_.Push(xdp.RxChunk(i));
  xdp.fill_.Submit();
  status = xdp.Bind(options, object);
  if (!status.ok()) return status;
  return xdp;
}

absl::Status XdpSocket::Setup(const XdpSocketOptions& options,
                              absl::string_view object) {
  const size_t bytes = (size_t{kRxChunks} + kTxChunks) * chunk_bytes_;
  memory_ = Mapping::Anonymous(bytes);
  if (!memory_.is_mapped()) {
    return ErrnoStatus(errno, {.object = object, .call = "mmap of the frames"});
  }
  fd_ = UniqueFd(socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (!fd_.is_open()) {
    return ErrnoStatus(
        errno,
        {.object = object,
         .call = "socket(AF_XDP)",
         .remedy = errno == EPERM ? kXdpRights : "the kernel has no AF_XDP"});
  }
  xdp_umem_reg memory{};
  memory.addr = reinterpret_cast<uint64_t>(memory_.bytes().data());
  memory.len = bytes;
  memory.chunk_size = chunk_bytes_;
  const std::string remedy = absl::StrCat(
      "each queue needs ", bytes / 1024,
      " KiB of locked memory, beside all else that this user locks; raise the "
      "limit (ulimit -l) or give CAP_IPC_LOCK");
  absl::Status status = SetOption(
      fd(), XDP_UMEM_REG, memory,
      {.object = object, .call = "setsockopt(XDP_UMEM_REG)", .remedy = remedy});
  const int rings[] = {XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING,
                       XDP_RX_RING, XDP_TX_RING};
  for (const int ring : rings) {
    if (!status.ok()) return status;
    status = SetOption(fd(), ring, kRingEntries,
                       {.object = object, .call = "setsockopt(XDP ring)"});
  }
  if (!status.ok()) return status;
  setsockopt(fd(), SOL_XDP, kMaxTxBudgetOption, &kRingEntries,
             sizeof kRingEntries);
  GrowSocketBuffer(fd(), SO_SNDBUFFORCE, SO_SNDBUF, kSendBufferBytes);
  if (options.busy_poll_frames > 0 &&
      SetBusyPoll(fd(), options.busy_poll_frames)) {
    busy_poll_ = XdpBusyPoll::kUnproven;
  }
  return absl::OkStatus();
}

absl::Status XdpSocket::MapRings(absl::string_view object) {
  xdp_mmap_offsets offsets{};
  socklen_t length = sizeof offsets;
  if (getsockopt(fd(), SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &length) != 0) {
    return ErrnoStatus(
        errno, {.object = object, .call = "getsockopt(XDP_MMAP_OFFSETS)"});
  }
  if (length < sizeof offsets) {
    return absl::UnimplementedError(
        absl::StrCat(object, ": AF_XDP needs Linux 5.4 or later"));
  }
  absl::Status status = MapRing<uint64_t>(fd(), XDP_UMEM_PGOFF_FILL_RING,
                                          offsets.fr, object, fill_memory_);
  if (!status.ok()) return status;
  status = MapRing<uint64_t>(fd(), XDP_UMEM_PGOFF_COMPLETION_RING, offsets.cr,
                             object, completed_memory_);
  if (!status.ok()) return status;
  status = MapRing<xdp_desc>(fd(), XDP_PGOFF_RX_RING, offsets.rx, object,
                             rx_memory_);
  if (!status.ok()) return status;
  status = MapRing<xdp_desc>(fd(), XDP_PGOFF_TX_RING, offsets.tx, object,
                             tx_memory_);
  if (!status.ok()) return status;
  fill_ = XdpProducer(PartsOf<uint64_t>(fill_memory_, offsets.fr));
  completed_ = XdpConsumer(PartsOf<uint64_t>(completed_memory_, offsets.cr));
  rx_ = XdpConsumer(PartsOf<xdp_desc>(rx_memory_, offsets.rx));
  tx_ = XdpProducer(PartsOf<xdp_desc>(tx_memory_, offsets.tx));
  return absl::OkStatus();
}

// Without a word on copying the kernel tries to do without first.
absl::Status XdpSocket::Bind(const XdpSocketOptions& options,
                             absl::string_view object) {
  sockaddr_xdp address{};
  address.sxdp_family = AF_XDP;
  address.sxdp_flags = static_cast<uint16_t>(
      XDP_USE_NEED_WAKEUP | (options.jumbo ? kUseSeveralChunks : 0));
  address.sxdp_ifindex = static_cast<uint32_t>(options.netdev_index);
  address.sxdp_queue_id = options.queue;
  const auto deadline = std::chrono::steady_clock::now() + kBusyPatience;
  while (bind(fd(), reinterpret_cast<const sockaddr*>(&address),
              sizeof address) != 0) {
    const int error = errno;
    if (error != EBUSY || std::chrono::steady_clock::now() > deadline) {
      return ErrnoStatus(
          error, {.object = absl::StrCat(object, ": queue ", options.queue),
                  .call = "bind(AF_XDP)",
                  .remedy = BindRemedy(error, options.jumbo)});
    }
    std::this_thread::sleep_for(kBusyPause);
  }
  xdp_options facts{};
  socklen_t length = sizeof facts;
  zero_copy_ = getsockopt(fd(), SOL_XDP, XDP_OPTIONS, &facts, &length) == 0 &&
               (facts.flags & XDP_OPTIONS_ZEROCOPY) != 0;
  return absl::OkStatus();
}

// Where the kernel knows no NAPI for the socket there is nothing to poll: so it
// is with veths on Linux 6.18.
void XdpSocket::ProveBusyPoll() noexcept {
  unsigned napi = 0;
  socklen_t length = sizeof napi;
  const bool is_known =
      getsockopt(fd(), SOL_SOCKET, SO_INCOMING_NAPI_ID, &napi, &length) == 0 &&
      napi != 0;
  busy_poll_ = is_known ? XdpBusyPoll::kOn : XdpBusyPoll::kOff;
}

void XdpSocket::WakeRx() const noexcept {
  recvfrom(fd(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
}

int XdpSocket::WakeTx() const noexcept {
  if (sendto(fd(), nullptr, 0, MSG_DONTWAIT, nullptr, 0) >= 0) return 0;
  return errno;
}

xdp_statistics XdpSocket::Statistics() const noexcept {
  xdp_statistics statistics{};
  socklen_t length = sizeof statistics;
  getsockopt(fd(), SOL_XDP, XDP_STATISTICS, &statistics, &length);
  return statistics;
}

}  // namespace weir::hca
