#include "weir/hca/backend/null.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "weir/base/big_endian.h"
#include "weir/hca/packet_checksums.h"
#include "weir/net/ethernet.h"
#include "weir/net/ipv4.h"
#include "weir/net/load_store.h"
#include "weir/net/udp.h"

namespace weir::hca {
namespace {

constexpr uint64_t kMinMtuBytes = 68;  // RFC 791 §3.2
constexpr uint64_t kMaxMtuBytes = 65535;
constexpr size_t kMaxReceive = 64;
constexpr uint64_t kMaxFlows = 4096;
constexpr uint16_t kFirstPort = 1000;

// Ethernet, IPv4 (RFC 791 §3.1, protocol 17) from 192.0.2.1 to 192.0.2.2 and
// UDP to port 2000. Source port, lengths and checksums are filled in.
constexpr std::array<uint8_t, 42> kHeaders = {
    0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00,
    0x01, 0x08, 0x00, 0x45, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x00,
    0x40, 0x11, 0x00, 0x00, 192,  0,    2,    1,    192,  0,    2,
    2,    0x00, 0x00, 0x07, 0xd0, 0x00, 0x00, 0x00, 0x00};
constexpr size_t kIpOffset = sizeof(net::EthernetHeader);
constexpr size_t kUdpOffset = kIpOffset + sizeof(net::Ipv4Header);

std::vector<std::byte> MakeFrame(size_t size, uint16_t source_port) {
  std::vector<std::byte> frame(std::max(size, kHeaders.size()));
  std::memcpy(frame.data(), kHeaders.data(), kHeaders.size());
  const std::span<std::byte> bytes(frame);
  auto ip = net::LoadHeader<net::Ipv4Header>(bytes, kIpOffset);
  ip.total_length = Be16(static_cast<uint16_t>(frame.size() - kIpOffset));
  net::StoreHeader(bytes, kIpOffset, ip);
  auto udp = net::LoadHeader<net::UdpHeader>(bytes, kUdpOffset);
  udp.source_port = Be16(source_port);
  udp.length = Be16(static_cast<uint16_t>(frame.size() - kUdpOffset));
  net::StoreHeader(bytes, kUdpOffset, udp);
  const iovec whole = {frame.data(), frame.size()};
  std::array<std::byte, kMaxChecksummedHeaderBytes> finished;
  const size_t changed =
      FinishChecksums(std::span(&whole, 1), frame.size(), finished).bytes;
  std::memcpy(frame.data(), finished.data(), changed);
  frame.resize(size);
  return frame;
}

// One frame a flow, over and over: a window on a ring of them. The ring is
// followed by its first frames again, so that a window never has to turn.
class NullBackend final : public Backend {
 public:
  NullBackend(uint32_t mtu_bytes, size_t frame_bytes, size_t flows)
      : period_((kMaxReceive + flows - 1) / flows * flows) {
    info_.mtu_bytes = mtu_bytes;
    info_.verifies_checksums = true;
    for (size_t i = 0; i < flows; ++i) {
      bytes_.push_back(
          MakeFrame(frame_bytes, static_cast<uint16_t>(kFirstPort + i)));
    }
    for (size_t i = 0; i < period_ + kMaxReceive; ++i) {
      const std::vector<std::byte>& frame = bytes_[i % flows];
      frames_.push_back(
          {.data = frame.data(),
           .length_bytes = static_cast<uint32_t>(frame_bytes),
           .flags = HasGoodChecksums(frame) ? kFrameChecksumGood : 0u,
           .timestamp_ns = 0});
    }
  }

  const BackendInfo& info() const noexcept override { return info_; }

  size_t Transmit(std::span<const TxFrame> frames) noexcept override {
    return frames.size();
  }

  std::span<const RxFrame> Receive(size_t max) noexcept override {
    return std::span(frames_).subspan(position_, std::min(max, kMaxReceive));
  }

  void Consume(size_t count) noexcept override {
    position_ += count;
    if (position_ >= period_) position_ -= period_;
  }

  // Frames always wait, so an armed completion queue fires at once.
  bool ArmReceive() noexcept override { return true; }

 private:
  BackendInfo info_;
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<RxFrame> frames_;
  // Of the next frame; a multiple of the flows, at least a window.
  size_t position_ = 0;
  size_t period_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> OpenNull(const DeviceKey& key) {
  if (absl::Status known = CheckOptions(key, {"flows", "mtu", "size"});
      !known.ok()) {
    return known;
  }
  if (!key.argument.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        key.text, ": \"", key.argument, "\" after \"null:\"; want nothing"));
  }
  const auto mtu = NumberOption(
      key, "mtu", {.min = kMinMtuBytes, .max = kMaxMtuBytes, .fallback = 1500});
  if (!mtu.ok()) return mtu.status();
  const auto size = NumberOption(key, "size",
                                 {.min = sizeof(net::EthernetHeader),
                                  .max = *mtu + net::kL2OverheadBytes,
                                  .fallback = std::min<uint64_t>(64, *mtu)});
  if (!size.ok()) return size.status();
  const auto flows =
      NumberOption(key, "flows", {.min = 1, .max = kMaxFlows, .fallback = 1});
  if (!flows.ok()) return flows.status();
  return std::make_unique<NullBackend>(static_cast<uint32_t>(*mtu), *size,
                                       *flows);
}

}  // namespace weir::hca
