#include "weir/hca/backend/tap.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "weir/base/cache_line.h"
#include "weir/base/unique_fd.h"
#include "weir/hca/backend/derived_mac.h"
#include "weir/hca/backend/link_watch.h"
#include "weir/hca/backend/rx_window.h"
#include "weir/hca/backend/tap_device.h"
#include "weir/net/ethernet.h"

namespace weir::hca {
namespace {

constexpr uint64_t kMinMtuBytes = 68;     // ETH_MIN_MTU of Linux
constexpr uint64_t kMaxMtuBytes = 65521;  // 65535 less the header

// What one read can return at most, whatever MTU the netdev gets later.
constexpr size_t kMaxReadBytes = size_t{64} << 10;
// A window of frames of 1500 bytes, and room for one more of any length.
constexpr size_t kBufferBytes = size_t{256} << 10;

enum CounterIndex : size_t {
  kRxQueueFull,
  kTxTooLong,
  kTxLinkDown,
  kTxNoNetdev,
  kTxFailed,
  kCounters,
};

// The netdev's own count of frames that it had for us and no room for. Open
// files of /sys follow the netdev when it gets another name or namespace.
class KernelDrops {
 public:
  explicit KernelDrops(const NetdevFacts& netdev) {
    const std::string folder = absl::StrCat("/sys/class/net/", netdev.name);
    // A /sys of another network namespace shows another netdev by that name.
    std::string address;
    std::ifstream(folder + "/address") >> address;
    if (address != net::ToString(netdev.mac)) return;
    file_ = UniqueFd(open((folder + "/statistics/tx_dropped").c_str(),
                          O_RDONLY | O_CLOEXEC));
    before_ = Read().value_or(0);
  }

  // Since the start; nothing if it cannot be known (any more).
  std::optional<uint64_t> Count() const noexcept {
    const std::optional<uint64_t> now = Read();
    if (!now.has_value()) return std::nullopt;
    return *now - before_;
  }

 private:
  std::optional<uint64_t> Read() const noexcept {
    std::array<char, 32> text;
    const ssize_t got = pread(file_.get(), text.data(), text.size(), 0);
    uint64_t value = 0;
    if (got <= 0 || std::from_chars(text.data(), text.data() + got, value).ec !=
                        std::errc()) {
      return std::nullopt;
    }
    return value;
  }

  UniqueFd file_;
  uint64_t before_ = 0;
};

class TapBackend final : public Backend {
 public:
  TapBackend(BackendInfo info, TapDevice tap, LinkWatch link)
      : buffer_(std::make_unique_for_overwrite<std::byte[]>(kBufferBytes)),
        drops_(tap.netdev),
        link_(std::move(link)),
        fd_(std::move(tap.fd)),
        info_(std::move(info)) {}

  const BackendInfo& info() const noexcept override { return info_; }
  size_t Transmit(std::span<const TxFrame> frames) noexcept override;
  std::span<const RxFrame> Receive(size_t max) noexcept override;
  void Consume(size_t count) noexcept override { window_.Pop(count); }
  LinkState ReadLink() noexcept override;
  int link_fd() const noexcept override { return link_.fd(); }
  // One whose netdev is gone would be readable for ever.
  int wake_fd() const noexcept override { return gone_ ? -1 : fd_.get(); }
  bool ArmReceive() noexcept override { return !window_.empty(); }
  void ClearWake() noexcept override { Poll(0); }
  std::span<const BackendCounter> counters() const noexcept override;

 private:
  void Fill() noexcept;
  short Poll(short events) noexcept;
  CounterIndex DropReason(int error) noexcept;

  alignas(kCacheLine) RxWindow window_;
  size_t used_bytes_ = 0;
  std::unique_ptr<std::byte[]> buffer_;
  KernelDrops drops_;
  LinkWatch link_;
  // kRxQueueFull is brought up to date when somebody asks.
  alignas(kCacheLine) mutable std::array<BackendCounter, kCounters> counters_ =
      {{{"rx_queue_full", {}},
        {"tx_too_long", {}},
        {"tx_link_down", {}},
        {"tx_no_netdev", {}},
        {"tx_failed", {}}}};
  // Set-up and errors only below.
  alignas(kCacheLine) UniqueFd fd_;
  BackendInfo info_;
  std::atomic<bool> gone_ = false;
};

size_t TapBackend::Transmit(std::span<const TxFrame> frames) noexcept {
  const size_t max_bytes = info_.mtu_bytes + net::kL2OverheadBytes;
  size_t taken = 0;
  for (; taken < frames.size(); ++taken) {
    const TxFrame& frame = frames[taken];
    if (frame.length_bytes > max_bytes) {
      counters_[kTxTooLong].value.Add(1);
      continue;
    }
    if (writev(fd_.get(), frame.segments.data(),
               static_cast<int>(frame.segments.size())) >= 0) {
      continue;
    }
    if (errno == EAGAIN || errno == EINTR || errno == ENOBUFS ||
        errno == ENOMEM) {
      break;
    }
    counters_[DropReason(errno)].value.Add(1);
  }
  return taken;
}

// Of a frame that can never be sent.
CounterIndex TapBackend::DropReason(int error) noexcept {
  switch (error) {
    case EIO:
      return kTxLinkDown;
    case EBADFD:
      gone_ = true;
      return kTxNoNetdev;
    default:
      return kTxFailed;
  }
}

std::span<const RxFrame> TapBackend::Receive(size_t max) noexcept {
  if (window_.empty()) Fill();
  return window_.Front(max);
}

// Only on an empty window: what it pointed to is overwritten.
void TapBackend::Fill() noexcept {
  used_bytes_ = 0;
  while (!window_.full() && kBufferBytes - used_bytes_ >= kMaxReadBytes) {
    std::byte* const to = buffer_.get() + used_bytes_;
    const ssize_t got = read(fd_.get(), to, kMaxReadBytes);
    if (got <= 0) {
      if (got < 0 && errno == EBADFD) gone_ = true;
      break;
    }
    auto length = static_cast<size_t>(got);
    if (length < net::kMinFrameBytes) {
      std::memset(to + length, 0, net::kMinFrameBytes - length);
      length = net::kMinFrameBytes;
    }
    window_.Push({.data = to, .length_bytes = static_cast<uint32_t>(length)});
    used_bytes_ += (length + kCacheLine - 1) / kCacheLine * kCacheLine;
  }
}

// The watch loses sight of a netdev that is moved to another namespace, the
// descriptor does not.
LinkState TapBackend::ReadLink() noexcept {
  link_.Read();
  if ((Poll(POLLOUT) & POLLOUT) != 0) return LinkState::kUp;
  return gone_ ? LinkState::kLost : LinkState::kDown;
}

// What the descriptor says now; POLLOUT means that the netdev is up.
short TapBackend::Poll(short events) noexcept {
  pollfd asked = {.fd = fd_.get(), .events = events, .revents = 0};
  if (poll(&asked, 1, 0) > 0 && (asked.revents & POLLERR) != 0) gone_ = true;
  return asked.revents;
}

std::span<const BackendCounter> TapBackend::counters() const noexcept {
  const std::optional<uint64_t> drops = drops_.Count();
  if (drops.has_value()) counters_[kRxQueueFull].value.Set(*drops);
  return counters_;
}

// Not that of the kernel's end, even where somebody gave it ours.
net::MacAddress OwnMac(const NetdevFacts& netdev) {
  net::MacAddress mac = DerivedMac(absl::StrCat("tap:", netdev.name));
  if (mac == netdev.mac) mac.octets.back() ^= 1;
  return mac;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> OpenTap(const DeviceKey& key) {
  const absl::Status status = CheckOptions(key, {"mtu"});
  if (!status.ok()) return status;
  const auto mtu_bytes = NumberOption(
      key, "mtu", {.min = kMinMtuBytes, .max = kMaxMtuBytes, .fallback = 0});
  if (!mtu_bytes.ok()) return mtu_bytes.status();
  std::optional<uint32_t> wanted;
  if (*mtu_bytes != 0) wanted = static_cast<uint32_t>(*mtu_bytes);
  absl::StatusOr<TapDevice> tap = OpenTapDevice(key.argument, wanted, key.text);
  if (!tap.ok()) return tap.status();
  absl::StatusOr<LinkWatch> link =
      LinkWatch::Create(tap->netdev.index, key.text);
  if (!link.ok()) return link.status();
  BackendInfo info{.mac = OwnMac(tap->netdev),
                   .netdev = tap->netdev.name,
                   .mtu_bytes = tap->netdev.mtu_bytes};
  return std::make_unique<TapBackend>(std::move(info), *std::move(tap),
                                      *std::move(link));
}

}  // namespace weir::hca
