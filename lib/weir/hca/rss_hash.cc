#include "weir/hca/rss_hash.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "weir/net/ip_packet.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"

namespace weir::hca {
namespace {

constexpr uint32_t kIpv4 = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4;
constexpr uint32_t kIpv6 = IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6;
constexpr uint32_t kTcp = IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP;
constexpr uint32_t kUdp = IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP;

net::Toeplitz FromKey(const uint8_t* key) {
  std::array<std::byte, net::kToeplitzKeyBytes> bytes;
  std::memcpy(bytes.data(), key, bytes.size());
  return net::Toeplitz(bytes);
}

// What takes part in a hash, one field behind the other.
class Input {
 public:
  explicit Input(std::span<const std::byte> frame) noexcept : frame_(frame) {}

  // The bytes of the frame from `offset` on, where `wanted`; they are there.
  void Add(bool wanted, size_t offset, size_t bytes) noexcept {
    if (!wanted) return;
    std::memcpy(input_.data() + size_, frame_.data() + offset, bytes);
    size_ += bytes;
  }
  std::span<const std::byte> bytes() const noexcept {
    return {input_.data(), size_};
  }

 private:
  std::span<const std::byte> frame_;
  size_t size_ = 0;
  std::array<std::byte, net::kMaxToeplitzInputBytes> input_;
};

}  // namespace

int RssHash::Check(const ibv_rx_hash_conf& conf, size_t entries) {
  if (conf.rx_hash_function != IBV_RX_HASH_FUNC_TOEPLITZ) return EOPNOTSUPP;
  if (conf.rx_hash_key_len != net::kToeplitzKeyBytes ||
      conf.rx_hash_key == nullptr) {
    return EINVAL;
  }
  const uint64_t fields = conf.rx_hash_fields_mask;
  if ((fields & ~kRssFields) != 0) return EOPNOTSUPP;
  if (((fields & kIpv4) != 0 && (fields & kIpv6) != 0) ||
      ((fields & kTcp) != 0 && (fields & kUdp) != 0) ||
      (fields == 0 && entries > 1)) {
    return EINVAL;
  }
  return fields != 0 && (fields & (kIpv4 | kIpv6)) == 0 ? EOPNOTSUPP : 0;
}

RssHash::RssHash(const ibv_rx_hash_conf& conf)
    : toeplitz_(FromKey(conf.rx_hash_key)),
      fields_(static_cast<uint32_t>(conf.rx_hash_fields_mask)) {}

uint32_t RssHash::Of(std::span<const std::byte> frame) const noexcept {
  const auto packet = net::FindIpPacket(frame);
  if (!packet.has_value()) return 0;
  if ((fields_ & (packet->is_ipv6 ? kIpv6 : kIpv4)) == 0) return 0;
  Input input(frame);
  if (packet->is_ipv6) {
    const size_t at = packet->ip_offset + offsetof(net::Ipv6Header, source);
    input.Add((fields_ & IBV_RX_HASH_SRC_IPV6) != 0, at, 16);
    input.Add((fields_ & IBV_RX_HASH_DST_IPV6) != 0, at + 16, 16);
  } else {
    const size_t at = packet->ip_offset + offsetof(net::Ipv4Header, source);
    input.Add((fields_ & IBV_RX_HASH_SRC_IPV4) != 0, at, 4);
    input.Add((fields_ & IBV_RX_HASH_DST_IPV4) != 0, at + 4, 4);
  }
  const bool is_tcp = packet->protocol == net::kProtocolTcp;
  const bool is_udp = packet->protocol == net::kProtocolUdp;
  const uint32_t wanted = is_tcp ? kTcp : is_udp ? kUdp : 0;
  const size_t at = packet->transport_offset;
  if (!packet->is_fragment && (fields_ & wanted) != 0 &&
      at + 4 <= frame.size()) {
    constexpr uint32_t kSource =
        IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_SRC_PORT_UDP;
    input.Add((fields_ & wanted & kSource) != 0, at, 2);
    input.Add((fields_ & wanted & ~kSource) != 0, at + 2, 2);
  }
  return toeplitz_.Hash(input.bytes());
}

}  // namespace weir::hca
