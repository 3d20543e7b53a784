// The sending half of the packet backend: frames through a packet socket.

#ifndef WEIR_HCA_BACKEND_PACKET_TX_H_
#define WEIR_HCA_BACKEND_PACKET_TX_H_

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/base/unique_fd.h"
#include "weir/hca/backend/backend.h"
#include "weir/hca/backend/netdev.h"
#include "weir/hca/backend/packet_counters.h"
#include "weir/net/ethernet.h"

namespace weir::hca {

class PacketTx {
 public:
  // A sender on `netdev`; messages begin with `object`. PermissionDenied
  // without CAP_NET_RAW, else errors as the system says. Control thread,
  // before Launch.
  static absl::StatusOr<PacketTx> Create(const NetdevFacts& netdev,
                                         absl::string_view object);

  // As Backend::Transmit. Frames below 60 bytes are padded with zeros. Owner
  // lcore only.
  size_t Transmit(std::span<const TxFrame> frames,
                  PacketCounters& counters) noexcept;

 private:
  static constexpr size_t kBurst = 64;

  explicit PacketTx(UniqueFd fd) : fd_(std::move(fd)) {}

  size_t Prepare(std::span<const TxFrame> frames) noexcept;

  UniqueFd fd_;
  std::array<mmsghdr, kBurst> messages_{};
  // What messages_ points to.
  std::array<iovec, 8 * kBurst> segments_{};
  // Copies of short frames with their padding.
  std::array<std::array<std::byte, net::kMinFrameBytes>, kBurst> padded_{};
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_PACKET_TX_H_
