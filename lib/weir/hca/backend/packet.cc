#include "weir/hca/backend/packet.h"

#include <sys/socket.h>

#include <utility>

#include "weir/base/cache_line.h"
#include "weir/hca/backend/link_watch.h"
#include "weir/hca/backend/netdev.h"
#include "weir/hca/backend/packet_counters.h"
#include "weir/hca/backend/packet_ring.h"
#include "weir/hca/backend/packet_rx.h"
#include "weir/hca/backend/packet_socket.h"
#include "weir/hca/backend/packet_tx.h"

namespace weir::hca {
namespace {

class PacketBackend final : public Backend {
 public:
  PacketBackend(BackendInfo info, PacketRing ring, PacketTx tx, LinkWatch link)
      : rx_(std::move(ring)),
        tx_(std::move(tx)),
        link_(std::move(link)),
        info_(std::move(info)) {}

  const BackendInfo& info() const noexcept override { return info_; }
  size_t Transmit(std::span<const TxFrame> frames) noexcept override {
    if (!link_.IsDown()) [[likely]] {
      return tx_.Transmit(frames, counters_);
    }
    counters_.Add(PacketCount::kTxLinkDown, frames.size());
    return frames.size();
  }
  std::span<const RxFrame> Receive(size_t max) noexcept override {
    return rx_.Receive(max, counters_);
  }
  void Consume(size_t count) noexcept override { rx_.Consume(count); }
  int wake_fd() const noexcept override { return rx_.fd(); }
  bool ArmReceive() noexcept override { return rx_.HasFrames(); }
  void ClearWake() noexcept override;
  LinkState ReadLink() noexcept override { return link_.Read(); }
  int link_fd() const noexcept override { return link_.fd(); }
  std::span<const BackendCounter> counters() const noexcept override {
    rx_.CountDrops(counters_);
    return counters_.all();
  }

 private:
  alignas(kCacheLine) PacketRx rx_;
  alignas(kCacheLine) PacketTx tx_;
  LinkWatch link_;
  alignas(kCacheLine) mutable PacketCounters counters_;
  // Set-up only below.
  alignas(kCacheLine) BackendInfo info_;
};

// Readability goes away with the frames; an error, such as a link that went
// down, stays until somebody asks for it.
void PacketBackend::ClearWake() noexcept {
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(rx_.fd(), SOL_SOCKET, SO_ERROR, &error, &length);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> OpenPacket(const DeviceKey& key) {
  const absl::Status status = CheckOptions(key, {"flow_control"});
  if (!status.ok()) return status;
  const auto flow_control = SwitchOption(key, "flow_control", true);
  if (!flow_control.ok()) return flow_control.status();
  absl::StatusOr<NetdevFacts> netdev = QueryNetdev(key.argument, key.text);
  if (!netdev.ok()) return netdev.status();
  absl::StatusOr<PacketTx> tx = PacketTx::Create(*netdev, key.text);
  if (!tx.ok()) return tx.status();
  absl::StatusOr<PacketRing> ring = PacketRing::Create(*netdev, key.text);
  if (!ring.ok()) return ring.status();
  absl::StatusOr<LinkWatch> link = LinkWatch::Create(netdev->index, key.text);
  if (!link.ok()) return link.status();
  BackendInfo info{.mac = netdev->mac,
                   .netdev = netdev->name,
                   .mtu_bytes = netdev->mtu_bytes,
                   .numa_node = netdev->numa_node,
                   .flow_control = *flow_control};
  return std::make_unique<PacketBackend>(std::move(info), *std::move(ring),
                                         *std::move(tx), *std::move(link));
}

}  // namespace weir::hca
