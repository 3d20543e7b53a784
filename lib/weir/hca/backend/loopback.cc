#include "weir/hca/backend/loopback.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "weir/base/cache_line.h"
#include "weir/base/errno_status.h"
#include "weir/base/unique_fd.h"
#include "weir/net/ethernet.h"
#include "weir/ring/byte_ring.h"
#include "weir/ring/doorbell.h"

namespace weir::hca {
namespace {

constexpr uint64_t kMinMtuBytes = 68;  // RFC 791 §3.2
constexpr uint64_t kMaxMtuBytes = 65535;
// Half of a common L2; room for a longest frame wherever the last one ended.
constexpr size_t kRingBytes = size_t{256} << 10;
static_assert(kRingBytes >=
              ByteRingBytesFor(kMaxMtuBytes + net::kL2OverheadBytes));

class LoopbackBackend final : public Backend {
 public:
  LoopbackBackend(BackendInfo info, UniqueFd wake_fd)
      : memory_(kRingBytes / sizeof(uint64_t)),
        reader_(indices_, std::as_writable_bytes(std::span(memory_))),
        writer_(indices_, std::as_writable_bytes(std::span(memory_))),
        wake_fd_(std::move(wake_fd)),
        info_(std::move(info)) {}

  const BackendInfo& info() const noexcept override { return info_; }
  size_t Transmit(std::span<const TxFrame> frames) noexcept override;
  std::span<const RxFrame> Receive(size_t max) noexcept override;
  void Consume(size_t count) noexcept override { reader_.Release(count); }
  int wake_fd() const noexcept override { return wake_fd_.get(); }
  bool ArmReceive() noexcept override {
    doorbell_.Arm();
    reader_.Rewind();
    return !reader_.empty();
  }
  void ClearWake() noexcept override {
    eventfd_t count = 0;
    eventfd_read(wake_fd_.get(), &count);
  }
  std::span<const BackendCounter> counters() const noexcept override {
    return counters_;
  }

 private:
  static constexpr size_t kMaxFrames = 128;

  bool Send(const TxFrame& frame) noexcept;

  ByteRingIndices indices_;
  Doorbell doorbell_;
  std::vector<uint64_t> memory_;
  alignas(kCacheLine) ByteRingReader reader_;
  std::array<RxFrame, kMaxFrames> frames_;
  alignas(kCacheLine) ByteRingWriter writer_;
  std::array<BackendCounter, 1> counters_ = {{{"tx_too_long", {}}}};
  // Set-up only below.
  alignas(kCacheLine) UniqueFd wake_fd_;
  BackendInfo info_;
};

size_t LoopbackBackend::Transmit(std::span<const TxFrame> frames) noexcept {
  size_t taken = 0;
  while (taken < frames.size() && Send(frames[taken])) ++taken;
  if (taken == 0) return 0;
  writer_.Publish();
  if (const Doorbell::Ticket ticket = doorbell_.armed();
      ticket != Doorbell::kQuiet) {
    eventfd_write(wake_fd_.get(), 1);
    doorbell_.Quiet(ticket);
  }
  return taken;
}

// False if the ring has no room now.
bool LoopbackBackend::Send(const TxFrame& frame) noexcept {
  if (frame.length_bytes > info_.mtu_bytes + net::kL2OverheadBytes) {
    counters_[0].value.Add(1);
    return true;
  }
  const std::optional<std::span<std::byte>> room =
      writer_.Append(frame.length_bytes, frame.flags & kFrameChecksumGood);
  if (!room.has_value()) return false;
  std::byte* to = room->data();
  for (const iovec& segment : frame.segments) {
    if (segment.iov_len == 0) continue;
    std::memcpy(to, segment.iov_base, segment.iov_len);
    to += segment.iov_len;
  }
  return true;
}

std::span<const RxFrame> LoopbackBackend::Receive(size_t max) noexcept {
  size_t count = 0;
  reader_.Rewind();
  reader_.Take(std::min(max, kMaxFrames), [&](std::span<const std::byte> record,
                                              uint32_t flags) {
    frames_[count++] = {.data = record.data(),
                        .length_bytes = static_cast<uint32_t>(record.size()),
                        .flags = flags,
                        .timestamp_ns = 0};
  });
  return std::span<const RxFrame>(frames_).first(count);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> OpenLoopback(const DeviceKey& key) {
  if (absl::Status known = CheckOptions(key, {"flow_control", "mtu"});
      !known.ok()) {
    return known;
  }
  if (!key.argument.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(key.text, ": \"", key.argument,
                     "\" after \"loopback:\"; want nothing"));
  }
  const auto mtu = NumberOption(
      key, "mtu", {.min = kMinMtuBytes, .max = kMaxMtuBytes, .fallback = 1500});
  if (!mtu.ok()) return mtu.status();
  const auto flow_control = SwitchOption(key, "flow_control", true);
  if (!flow_control.ok()) return flow_control.status();
  UniqueFd wake_fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake_fd.is_open()) {
    return ErrnoStatus(errno, {.object = key.text, .call = "eventfd"});
  }
  BackendInfo info;
  info.mtu_bytes = static_cast<uint32_t>(*mtu);
  info.flow_control = *flow_control;
  return std::make_unique<LoopbackBackend>(std::move(info), std::move(wake_fd));
}

}  // namespace weir::hca
