#include "weir/hca/backend/xdp/xdp.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "weir/base/cache_line.h"
#include "weir/base/errno_status.h"
#include "weir/hca/backend/link_watch.h"
#include "weir/hca/backend/netdev.h"
#include "weir/hca/backend/packet_socket.h"
#include "weir/hca/backend/xdp/flow_filter.h"
#include "weir/hca/backend/xdp/netdev_driver.h"
#include "weir/hca/backend/xdp/xdp_counters.h"
#include "weir/hca/backend/xdp/xdp_link.h"
#include "weir/hca/backend/xdp/xdp_rights.h"
#include "weir/hca/backend/xdp/xdp_rx.h"
#include "weir/hca/backend/xdp/xdp_sniffer.h"
#include "weir/hca/backend/xdp/xdp_socket.h"
#include "weir/hca/backend/xdp/xdp_tx.h"
#include "weir/hca/backend/xdp/xdp_wake.h"
#include "weir/net/ethernet.h"

namespace weir::hca {
namespace {

constexpr uint64_t kMaxQueues = 64;
constexpr uint64_t kMaxBusyPollFrames = 512;

// All that holds the netdev, in the order in which it is taken; given back the
// other way round, so that nothing is led to a socket that is closed.
struct XdpParts {
  NetdevFacts netdev;
  NetdevDriver driver;
  LinkWatch link_watch;
  UniqueFd promiscuous;
  std::vector<XdpSocket> sockets;
  XdpWake wake;
  FlowFilter filter;
  XdpLink link;
};

// With two VLAN tags.
constexpr uint32_t MaxFrameBytes(uint32_t mtu_bytes) noexcept {
  return mtu_bytes + uint32_t{net::kL2OverheadBytes};
}

class XdpBackend final : public Backend {
 public:
  XdpBackend(XdpParts parts, BackendInfo info, const XdpRxOptions& rx);

  const BackendInfo& info() const noexcept override { return info_; }
  size_t Transmit(std::span<const TxFrame> frames) noexcept override {
    LinkWatch& link = parts_.link_watch;
    if (!link.IsDown()) [[likely]] {
      // The system sends what is longer as if it were not.
      if (link.mtu_bytes() != 0) tx_.LimitTo(MaxFrameBytes(link.mtu_bytes()));
      return tx_.Transmit(frames, counters_);
    }
    counters_.Add(XdpCount::kTxLinkDown, frames.size());
    return frames.size();
  }
  bool Flush() noexcept override { return tx_.Flush(counters_); }
  std::span<const RxFrame> Receive(size_t max) noexcept override;
  void Consume(size_t count) noexcept override;
  int AddFlow(const FlowRule& rule) override;
  void RemoveFlow(const FlowRule& rule) noexcept override;
  LinkState ReadLink() noexcept override { return parts_.link_watch.Read(); }
  int link_fd() const noexcept override { return parts_.link_watch.fd(); }
  int wake_fd() const noexcept override { return parts_.wake.fd(); }
  bool ArmReceive() noexcept override;
  void ClearWake() noexcept override;
  std::span<const BackendCounter> counters() const noexcept override {
    rx_.CountDrops(counters_);
    if (sniffer_.has_value()) sniffer_->CountDrops(counters_);
    return counters_.all();
  }

 private:
  XdpParts parts_;
  alignas(kCacheLine) XdpRx rx_;
  mutable std::optional<XdpSniffer> sniffer_;
  // What the last Receive showed came from the sniffer.
  bool shows_sniffed_ = false;
  alignas(kCacheLine) XdpTx tx_;
  alignas(kCacheLine) mutable XdpCounters counters_;
  // Set-up only below.
  alignas(kCacheLine) BackendInfo info_;
  size_t copying_rules_ = 0;
};

// Frames leave through the queues that exist in both directions.
std::span<XdpSocket> TxSockets(XdpParts& parts) {
  const size_t count =
      std::min<size_t>(parts.sockets.size(), parts.driver.tx_queues);
  return std::span(parts.sockets).first(count);
}

XdpBackend::XdpBackend(XdpParts parts, BackendInfo info, const XdpRxOptions& rx)
    : parts_(std::move(parts)),
      rx_(parts_.sockets, rx),
      tx_(TxSockets(parts_), MaxFrameBytes(info.mtu_bytes)),
      info_(std::move(info)) {
  counters_.Add(XdpCount::kNative, parts_.link.is_native ? 1 : 0);
  counters_.Add(XdpCount::kZeroCopy,
                parts_.sockets.front().is_zero_copy() ? 1 : 0);
}

// With sniffers, from both sources in turn: whatever was shown is consumed
// before the other one is asked.
std::span<const RxFrame> XdpBackend::Receive(size_t max) noexcept {
  if (!sniffer_.has_value()) return rx_.Receive(max, counters_);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const std::span<const RxFrame> frames =
        shows_sniffed_ ? sniffer_->Receive(max) : rx_.Receive(max, counters_);
    if (!frames.empty()) return frames;
    shows_sniffed_ = !shows_sniffed_;
  }
  return {};
}

void XdpBackend::Consume(size_t count) noexcept {
  if (shows_sniffed_) {
    sniffer_->Consume(count);
  } else {
    rx_.Consume(count);
  }
  if (sniffer_.has_value() && count > 0) shows_sniffed_ = !shows_sniffed_;
}

// A frame that goes to a socket does not go to the kernel: what rules that let
// frames go on are to see of the kernel's, the sniffer shows.
bool IsCopying(const FlowRule& rule) noexcept {
  return rule.kind == FlowKind::kSniffer || !rule.traps;
}

int XdpBackend::AddFlow(const FlowRule& rule) {
  if (!IsCopying(rule)) return parts_.filter.Add(rule.match);
  if (!sniffer_.has_value()) {
    absl::StatusOr<XdpSniffer> sniffer =
        XdpSniffer::Open(parts_.netdev, parts_.wake.fd());
    if (!sniffer.ok()) return ENOMEM;
    sniffer_.emplace(*std::move(sniffer));
  }
  ++copying_rules_;
  return 0;
}

void XdpBackend::RemoveFlow(const FlowRule& rule) noexcept {
  if (!IsCopying(rule)) {
    parts_.filter.Remove(rule.match);
    return;
  }
  if (copying_rules_ == 0 || --copying_rules_ > 0) return;
  sniffer_->CountDrops(counters_);
  sniffer_.reset();
  shows_sniffed_ = false;
}

// Watched first: what arrives in between is seen by one or the other. Where the
// system cannot watch, nobody is to sleep.
bool XdpBackend::ArmReceive() noexcept {
  const bool is_watched = parts_.wake.Arm(parts_.sockets);
  return rx_.ArmReceive() || !is_watched ||
         (sniffer_.has_value() && sniffer_->HasFrames());
}

void XdpBackend::ClearWake() noexcept {
  parts_.wake.Disarm(parts_.sockets);
  if (sniffer_.has_value()) sniffer_->ClearWake();
}

// Nothing is received through this socket, but it knows when the netdev goes.
absl::StatusOr<UniqueFd> MakePromiscuous(const NetdevFacts& netdev,
                                         absl::string_view object) {
  absl::StatusOr<UniqueFd> fd = OpenPacketSocket(object, kXdpRights);
  if (!fd.ok()) return fd.status();
  const absl::Status joined = JoinPromiscuous(fd->get(), netdev.index, object);
  if (!joined.ok()) return joined;
  const absl::Status bound =
      BindPacketSocket(fd->get(), netdev.index, 0, object);
  if (!bound.ok()) return bound;
  return fd;
}

// Frames of one chunk, of one page, or of several pages.
void SizeChunks(uint32_t mtu_bytes, XdpSocketOptions& options) {
  const uint32_t frame =
      mtu_bytes + uint32_t{net::kL2OverheadBytes} + XdpSocket::kRxHeadroomBytes;
  options.chunk_bytes = frame <= 2048 ? 2048 : 4096;
  options.jumbo = frame > 4096;
}

struct XdpOptions {
  bool flow_control = true;
  uint32_t queues = 0;
  uint32_t busy_poll_frames = 0;
  bool verify_checksums = true;
};

absl::StatusOr<XdpOptions> ReadOptions(const DeviceKey& key) {
  const absl::Status known =
      CheckOptions(key, {"busy_poll", "flow_control", "queues", "rx_checksum"});
  if (!known.ok()) return known;
  const auto flow_control = SwitchOption(key, "flow_control", true);
  if (!flow_control.ok()) return flow_control.status();
  const auto rx_checksum = SwitchOption(key, "rx_checksum", true);
  if (!rx_checksum.ok()) return rx_checksum.status();
  const auto queues =
      NumberOption(key, "queues", {.min = 1, .max = kMaxQueues, .fallback = 0});
  if (!queues.ok()) return queues.status();
  const auto busy_poll = NumberOption(
      key, "busy_poll", {.min = 0, .max = kMaxBusyPollFrames, .fallback = 0});
  if (!busy_poll.ok()) return busy_poll.status();
  return XdpOptions{.flow_control = *flow_control,
                    .queues = static_cast<uint32_t>(*queues),
                    .busy_poll_frames = static_cast<uint32_t>(*busy_poll),
                    .verify_checksums = *rx_checksum};
}

absl::StatusOr<std::vector<XdpSocket>> OpenSockets(XdpSocketOptions options,
                                                   uint32_t count,
                                                   FlowFilter& filter,
                                                   absl::string_view object) {
  std::vector<XdpSocket> sockets;
  for (uint32_t queue = 0; queue < count; ++queue) {
    options.queue = queue;
    absl::StatusOr<XdpSocket> socket = XdpSocket::Create(options, object);
    if (!socket.ok()) return socket.status();
    const absl::Status set = filter.SetSocket(queue, socket->fd(), object);
    if (!set.ok()) return set;
    sockets.push_back(*std::move(socket));
  }
  return sockets;
}

absl::StatusOr<uint32_t> CountQueues(const XdpOptions& options,
                                     const NetdevDriver& driver,
                                     absl::string_view object) {
  const uint32_t there =
      std::min(driver.rx_queues, static_cast<uint32_t>(kMaxQueues));
  if (options.queues <= there) {
    return options.queues == 0 ? there : options.queues;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      object, ": queues=", options.queues, ": the netdev has ",
      driver.rx_queues, "; take fewer, or make more with `ethtool -L`"));
}

std::string ModeText(const XdpParts& parts) {
  const size_t queues = parts.sockets.size();
  return absl::StrCat(
      parts.link.is_native ? "native" : "generic", " XDP, ",
      parts.sockets.front().is_zero_copy() ? "zero-copy" : "copy", ", ", queues,
      queues == 1 ? " queue" : " queues");
}

absl::StatusOr<XdpParts> OpenParts(const DeviceKey& key,
                                   const XdpOptions& options) {
  absl::StatusOr<NetdevFacts> netdev = QueryNetdev(key.argument, key.text);
  if (!netdev.ok()) return netdev.status();
  absl::StatusOr<NetdevDriver> driver = QueryDriver(netdev->name, key.text);
  if (!driver.ok()) return driver.status();
  const absl::StatusOr<uint32_t> queues =
      CountQueues(options, *driver, key.text);
  if (!queues.ok()) return queues.status();
  absl::StatusOr<LinkWatch> watch = LinkWatch::Create(netdev->index, key.text);
  if (!watch.ok()) return watch.status();
  absl::StatusOr<UniqueFd> promiscuous = MakePromiscuous(*netdev, key.text);
  if (!promiscuous.ok()) return promiscuous.status();
  XdpSocketOptions each{.netdev_index = netdev->index,
                        .busy_poll_frames = options.busy_poll_frames};
  SizeChunks(netdev->mtu_bytes, each);
  absl::StatusOr<FlowFilter> filter =
      FlowFilter::Load({.queues = *queues, .jumbo = each.jumbo}, key.text);
  if (!filter.ok()) return filter.status();
  auto sockets = OpenSockets(each, *queues, *filter, key.text);
  if (!sockets.ok()) return sockets.status();
  absl::StatusOr<XdpWake> wake = XdpWake::Create(key.text);
  if (!wake.ok()) return wake.status();
  absl::StatusOr<XdpLink> link =
      AttachXdp(filter->program_fd(), *netdev, key.text);
  if (!link.ok()) return link.status();
  return XdpParts{.netdev = *std::move(netdev),
                  .driver = *std::move(driver),
                  .link_watch = *std::move(watch),
                  .promiscuous = *std::move(promiscuous),
                  .sockets = *std::move(sockets),
                  .wake = *std::move(wake),
                  .filter = *std::move(filter),
                  .link = *std::move(link)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> OpenXdp(const DeviceKey& key) {
  const absl::StatusOr<XdpOptions> options = ReadOptions(key);
  if (!options.ok()) return options.status();
  absl::StatusOr<XdpParts> parts = OpenParts(key, *options);
  if (!parts.ok()) return parts.status();
  BackendInfo info{.mac = parts->netdev.mac,
                   .netdev = parts->netdev.name,
                   .mode = ModeText(*parts),
                   .mtu_bytes = parts->netdev.mtu_bytes,
                   .numa_node = parts->netdev.numa_node,
                   .flow_control = options->flow_control,
                   .holds_sends = true};
  const size_t frame_bytes = info.mtu_bytes + net::kL2OverheadBytes;
  const bool jumbo = frame_bytes + XdpSocket::kRxHeadroomBytes > 4096;
  // A veth hands over what the kernel at its other end has not finished.
  const bool unfinished =
      parts->driver.name == "veth" || !parts->link.is_native;
  const XdpRxOptions rx{.jumbo_bytes = jumbo ? frame_bytes : 0,
                        .checksums = !unfinished ? XdpChecksums::kLeave
                                     : options->verify_checksums
                                         ? XdpChecksums::kSettle
                                         : XdpChecksums::kFinish};
  return std::make_unique<XdpBackend>(*std::move(parts), std::move(info), rx);
}

}  // namespace weir::hca
