#include "weir/hca/backend/null.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "weir/net/ethernet.h"

namespace weir::hca {
namespace {

constexpr uint64_t kMinMtuBytes = 68;  // RFC 791 §3.2
constexpr uint64_t kMaxMtuBytes = 65535;
constexpr size_t kMaxReceive = 64;

// Ethernet, IPv4 (RFC 791 §3.1, protocol 17) from 192.0.2.1 to 192.0.2.2 and
// UDP from port 1000 to 2000 without checksum. The lengths are filled in.
constexpr std::array<uint8_t, 42> kHeaders = {
    0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00,
    0x01, 0x08, 0x00, 0x45, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x00,
    0x40, 0x11, 0x00, 0x00, 192,  0,    2,    1,    192,  0,    2,
    2,    0x03, 0xe8, 0x07, 0xd0, 0x00, 0x00, 0x00, 0x00};

void PutBe16(std::byte* to, size_t value) {
  to[0] = static_cast<std::byte>(value >> 8);
  to[1] = static_cast<std::byte>(value);
}

// RFC 791 §3.1 over the 20 bytes of the header above.
uint16_t HeaderChecksum(const std::byte* header) {
  uint32_t sum = 0;
  for (size_t i = 0; i < 20; i += 2) {
    sum += (std::to_integer<uint32_t>(header[i]) << 8) |
           std::to_integer<uint32_t>(header[i + 1]);
  }
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~(sum + (sum >> 16)));
}

std::vector<std::byte> MakeTemplate(size_t size) {
  std::vector<std::byte> frame(std::max(size, kHeaders.size()));
  std::memcpy(frame.data(), kHeaders.data(), kHeaders.size());
  std::byte* ip = frame.data() + sizeof(net::EthernetHeader);
  PutBe16(ip + 2, frame.size() - sizeof(net::EthernetHeader));
  PutBe16(ip + 10, HeaderChecksum(ip));
  PutBe16(ip + 24, frame.size() - sizeof(net::EthernetHeader) - 20);
  frame.resize(size);
  return frame;
}

class NullBackend final : public Backend {
 public:
  NullBackend(uint32_t mtu_bytes, size_t frame_bytes)
      : template_(MakeTemplate(frame_bytes)) {
    info_.mtu_bytes = mtu_bytes;
    frames_.fill({.data = template_.data(),
                  .length_bytes = static_cast<uint32_t>(frame_bytes),
                  .timestamp_ns = 0});
  }

  const BackendInfo& info() const noexcept override { return info_; }

  size_t Transmit(std::span<const TxFrame> frames) noexcept override {
    return frames.size();
  }

  std::span<const RxFrame> Receive(size_t max) noexcept override {
    return std::span(frames_).first(std::min(max, frames_.size()));
  }

  void Consume(size_t) noexcept override {}

  // Frames always wait, so an armed completion queue fires at once.
  bool ArmReceive() noexcept override { return true; }

 private:
  BackendInfo info_;
  std::vector<std::byte> template_;
  std::array<RxFrame, kMaxReceive> frames_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> OpenNull(const DeviceKey& key) {
  if (absl::Status known = CheckOptions(key, {"mtu", "size"}); !known.ok()) {
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
  return std::make_unique<NullBackend>(static_cast<uint32_t>(*mtu), *size);
}

}  // namespace weir::hca
