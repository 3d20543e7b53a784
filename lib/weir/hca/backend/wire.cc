#include "weir/hca/backend/wire.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "weir/base/cache_line.h"
#include "weir/hca/backend/derived_mac.h"
#include "weir/hca/backend/wire_medium.h"
#include "weir/net/ethernet.h"
#include "weir/ring/byte_ring.h"

namespace weir::hca {
namespace {

constexpr uint64_t kDefaultMtuBytes = 1500;
// IEEE 802.3 payloads may be shorter; RFC 791 needs 68.
constexpr uint64_t kMinMtuBytes = 68;
constexpr uint64_t kMaxMtuBytes = 65535;
// Half of a common L2 for both directions together; four times the largest mtu.
constexpr uint64_t kDefaultRingBytes = uint64_t{256} << 10;
constexpr uint64_t kMinRingBytes = uint64_t{1} << 10;
constexpr uint64_t kMaxRingBytes = uint64_t{1} << 30;

enum CounterIndex : size_t { kTxNoPeer, kTxTooLong, kCounters };

// One end. Receiver and sender touch different lines.
class WireEnd final : public Backend {
 public:
  WireEnd(BackendInfo info, std::shared_ptr<WireMedium> medium, WireSide side)
      : reader_(medium->to(side).indices, medium->to(side).bytes),
        writer_(medium->to(OtherSide(side)).indices,
                medium->to(OtherSide(side)).bytes),
        info_(std::move(info)),
        medium_(std::move(medium)),
        side_(side) {}
  WireEnd(const WireEnd&) = delete;
  WireEnd& operator=(const WireEnd&) = delete;
  ~WireEnd() override { medium_->Close(side_); }

  const BackendInfo& info() const noexcept override { return info_; }
  size_t Transmit(std::span<const TxFrame> frames) noexcept override;
  std::span<const RxFrame> Receive(size_t max) noexcept override;
  void Consume(size_t count) noexcept override { reader_.Release(count); }
  int wake_fd() const noexcept override {
    return medium_->to(side_).wake_fd.get();
  }
  bool ArmReceive() noexcept override;
  void ClearWake() noexcept override;
  std::span<const BackendCounter> counters() const noexcept override {
    return counters_;
  }

 private:
  static constexpr size_t kMaxFrames = 128;

  bool Send(const TxFrame& frame) noexcept;
  void WakePeer() noexcept;
  void Count(CounterIndex index, uint64_t n) noexcept {
    counters_[index].value.Add(n);
  }

  alignas(kCacheLine) ByteRingReader reader_;
  std::array<RxFrame, kMaxFrames> frames_;
  alignas(kCacheLine) ByteRingWriter writer_;
  std::array<BackendCounter, kCounters> counters_ = {
      {{"tx_no_peer", {}}, {"tx_too_long", {}}}};
  // Set-up only below.
  alignas(kCacheLine) BackendInfo info_;
  std::shared_ptr<WireMedium> medium_;
  WireSide side_;
};

size_t WireEnd::Transmit(std::span<const TxFrame> frames) noexcept {
  if (!medium_->to(OtherSide(side_)).receiver_open) {
    Count(kTxNoPeer, frames.size());
    return frames.size();
  }
  size_t taken = 0;
  while (taken < frames.size() && Send(frames[taken])) ++taken;
  if (taken > 0) {
    writer_.Publish();
    WakePeer();
  }
  return taken;
}

// False if the ring has no room now.
bool WireEnd::Send(const TxFrame& frame) noexcept {
  if (frame.length_bytes > writer_.max_record_bytes()) {
    Count(kTxTooLong, 1);
    return true;
  }
  const std::optional<std::span<std::byte>> room =
      writer_.Append(frame.length_bytes);
  if (!room.has_value()) return false;
  std::byte* to = room->data();
  for (const iovec& segment : frame.segments) {
    if (segment.iov_len == 0) continue;
    std::memcpy(to, segment.iov_base, segment.iov_len);
    to += segment.iov_len;
  }
  return true;
}

void WireEnd::WakePeer() noexcept {
  WireDirection& direction = medium_->to(OtherSide(side_));
  if (!direction.doorbell.TakeArmed()) return;
  // Fails only if the count is at its end, and then it is readable already.
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written =
      write(direction.wake_fd.get(), &one, sizeof one);
}

std::span<const RxFrame> WireEnd::Receive(size_t max) noexcept {
  size_t count = 0;
  reader_.Peek(std::min(max, kMaxFrames),
               [&](std::span<const std::byte> record) {
                 frames_[count++] = {
                     .data = record.data(),
                     .length_bytes = static_cast<uint32_t>(record.size()),
                     .timestamp_ns = 0};
               });
  return std::span<const RxFrame>(frames_).first(count);
}

bool WireEnd::ArmReceive() noexcept {
  medium_->to(side_).doorbell.Arm();
  return !reader_.empty();
}

void WireEnd::ClearWake() noexcept {
  uint64_t count = 0;
  // Fails if nobody has woken us, which is as good.
  [[maybe_unused]] const ssize_t got = read(wake_fd(), &count, sizeof count);
}

struct WireKey {
  WireMedium::Options options;
  std::optional<WireSide> side;
  bool flow_control;
};

absl::StatusOr<WireKey> ParseWireKey(const DeviceKey& key) {
  const absl::Status status =
      CheckOptions(key, {"end", "flow_control", "mtu", "bytes"});
  if (!status.ok()) return status;
  if (key.argument.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(key.text, ": want a name, as in wire:a"));
  }
  const auto mtu_bytes = NumberOption(
      key, "mtu",
      {.min = kMinMtuBytes, .max = kMaxMtuBytes, .fallback = kDefaultMtuBytes});
  if (!mtu_bytes.ok()) return mtu_bytes.status();
  const auto ring_bytes = NumberOption(key, "bytes",
                                       {.min = kMinRingBytes,
                                        .max = kMaxRingBytes,
                                        .fallback = kDefaultRingBytes});
  if (!ring_bytes.ok()) return ring_bytes.status();
  const auto flow_control = SwitchOption(key, "flow_control", true);
  if (!flow_control.ok()) return flow_control.status();
  const absl::string_view end = key.Option("end", "");
  std::optional<WireSide> side;
  if (end == "a") side = WireSide::kA;
  if (end == "b") side = WireSide::kB;
  if (!end.empty() && !side.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(key.text, ": end=", end, ": want \"a\" or \"b\""));
  }
  return WireKey{.options = {.mtu_bytes = static_cast<uint32_t>(*mtu_bytes),
                             .ring_bytes = std::bit_ceil(*ring_bytes)},
                 .side = side,
                 .flow_control = *flow_control};
}

// Both ends must mean the same wire; who does not say takes what there is.
absl::Status CheckSameOptions(const DeviceKey& key,
                              const WireMedium::Options& asked,
                              const WireMedium::Options& actual) {
  if (!key.Option("mtu", "").empty() && asked.mtu_bytes != actual.mtu_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(key.text, ": the other end has mtu=", actual.mtu_bytes));
  }
  if (!key.Option("bytes", "").empty() &&
      asked.ring_bytes != actual.ring_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        key.text, ": the other end has bytes=", actual.ring_bytes));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> OpenWire(const DeviceKey& key) {
  const absl::StatusOr<WireKey> wanted = ParseWireKey(key);
  if (!wanted.ok()) return wanted.status();
  const uint64_t longest = wanted->options.mtu_bytes + net::kL2OverheadBytes;
  const size_t least = ByteRingBytesFor(longest);
  if (wanted->options.ring_bytes < least) {
    return absl::InvalidArgumentError(
        absl::StrCat(key.text, ": bytes=", wanted->options.ring_bytes,
                     " is too small for mtu ", wanted->options.mtu_bytes,
                     "; want at least ", least));
  }
  auto medium = WireMedium::FindOrCreate(key.argument, wanted->options);
  if (!medium.ok()) return medium.status();
  const absl::Status same =
      CheckSameOptions(key, wanted->options, (*medium)->options());
  if (!same.ok()) return same;
  const std::optional<WireSide> side = (*medium)->Open(wanted->side);
  if (!side.has_value()) {
    return absl::AlreadyExistsError(absl::StrCat(
        key.text, wanted->side.has_value() ? ": this end is open already"
                                           : ": both ends are open already"));
  }
  BackendInfo info;
  info.mac = DerivedMac(
      absl::StrCat("wire:", key.argument, *side == WireSide::kA ? "/a" : "/b"));
  info.mtu_bytes = (*medium)->options().mtu_bytes;
  info.flow_control = wanted->flow_control;
  return std::make_unique<WireEnd>(std::move(info), *std::move(medium), *side);
}

}  // namespace weir::hca
