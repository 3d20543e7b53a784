#include "weir/hca/backend/wire/wire.h"

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "weir/base/cache_line.h"
#include "weir/hca/backend/derived_mac.h"
#include "weir/hca/backend/wire/layout.h"
#include "weir/hca/backend/wire/medium.h"
#include "weir/hca/backend/wire/receiver.h"
#include "weir/hca/backend/wire/sender.h"
#include "weir/net/ethernet.h"
#include "weir/ring/byte_ring_layout.h"

namespace weir::hca {
namespace {

constexpr uint64_t kDefaultMtuBytes = 1500;
// IEEE 802.3 payloads may be shorter; RFC 791 needs 68.
constexpr uint64_t kMinMtuBytes = 68;
constexpr uint64_t kMaxMtuBytes = 65535;
// Half of a common L2 for both directions of two ends; four times the largest
// mtu.
constexpr uint64_t kDefaultRingBytes = uint64_t{256} << 10;
constexpr uint64_t kMinRingBytes = uint64_t{1} << 10;
constexpr uint64_t kMaxRingBytes = uint64_t{1} << 30;

// One end. Receiver and sender touch different lines.
class WireEnd final : public Backend {
 public:
  WireEnd(BackendInfo info, std::unique_ptr<WireMedium> medium)
      : medium_(std::move(medium)),
        receiver_(*medium_),
        sender_(*medium_, info.flow_control),
        info_(std::move(info)) {}

  const BackendInfo& info() const noexcept override { return info_; }
  size_t Transmit(std::span<const TxFrame> frames) noexcept override {
    return sender_.Transmit(frames);
  }
  std::span<const RxFrame> Receive(size_t max) noexcept override {
    return receiver_.Receive(max);
  }
  void Consume(size_t count) noexcept override { receiver_.Consume(count); }
  int wake_fd() const noexcept override { return medium_->wake().fd(); }
  bool ArmReceive() noexcept override { return receiver_.Arm(); }
  void ClearWake() noexcept override { medium_->wake().Clear(); }
  std::span<const BackendCounter> counters() const noexcept override;

 private:
  std::unique_ptr<WireMedium> medium_;
  alignas(kCacheLine) WireReceiver receiver_;
  alignas(kCacheLine) WireSender sender_;
  // Set-up and counts only below.
  alignas(kCacheLine) BackendInfo info_;
  // Copies that are made when they are asked for.
  mutable std::array<BackendCounter, 5> counters_ = {{{"tx_no_peer", {}},
                                                      {"tx_too_long", {}},
                                                      {"tx_ring_full", {}},
                                                      {"tx_peer_gone", {}},
                                                      {"rx_damaged", {}}}};
};

std::span<const BackendCounter> WireEnd::counters() const noexcept {
  // What waits for ends that died is lost as well, whether or not anybody has
  // tried to send to them since.
  for (size_t end = 0; end < kWireEnds; ++end) {
    if (medium_->AnyOnTheWay(medium_->end(), end)) medium_->TryBury(end);
  }
  const uint64_t values[] = {sender_.no_peer(), sender_.too_long(),
                             sender_.ring_full(), medium_->abandoned(),
                             receiver_.damaged()};
  for (size_t i = 0; i < counters_.size(); ++i) {
    counters_[i].value.Set(values[i]);
  }
  return counters_;
}

struct WireKey {
  WireRequest request;
  bool flow_control;
};

// The end that `text` names, a single letter; nothing for anything else.
std::optional<size_t> EndOf(absl::string_view text) {
  for (size_t end = 0; end < kWireEnds; ++end) {
    if (text.size() == 1 && text[0] == WireEndLetter(end)) return end;
  }
  return std::nullopt;
}

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
  const absl::string_view letter = key.Option("end", "");
  const std::optional<size_t> end = EndOf(letter);
  if (!letter.empty() && !end.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(key.text, ": end=", letter,
                     ": want a letter from \"a\" "
                     "to \"",
                     std::string(1, WireEndLetter(kWireEnds - 1)), "\""));
  }
  const WireGeometry geometry = {.mtu_bytes = static_cast<uint32_t>(*mtu_bytes),
                                 .ring_bytes = std::bit_ceil(*ring_bytes)};
  return WireKey{
      .request = {.object = key.text,
                  .name = key.argument,
                  .geometry = geometry,
                  .mtu_given = !key.Option("mtu", "").empty(),
                  .ring_bytes_given = !key.Option("bytes", "").empty(),
                  .end = end},
      .flow_control = *flow_control};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> OpenWire(const DeviceKey& key) {
  const absl::StatusOr<WireKey> wanted = ParseWireKey(key);
  if (!wanted.ok()) return wanted.status();
  const WireGeometry& asked = wanted->request.geometry;
  const size_t least =
      ByteRingBytesFor(asked.mtu_bytes + net::kL2OverheadBytes);
  if (asked.ring_bytes < least) {
    return absl::InvalidArgumentError(absl::StrCat(
        key.text, ": bytes=", asked.ring_bytes, " is too small for mtu ",
        asked.mtu_bytes, "; want at least ", least));
  }
  auto medium = WireMedium::Open(wanted->request);
  if (!medium.ok()) return medium.status();
  BackendInfo info;
  info.mac =
      DerivedMac(absl::StrCat("wire:", key.argument, "/",
                              std::string(1, WireEndLetter((*medium)->end()))));
  info.mtu_bytes = (*medium)->geometry().mtu_bytes;
  info.flow_control = wanted->flow_control;
  return std::make_unique<WireEnd>(std::move(info), *std::move(medium));
}

}  // namespace weir::hca
