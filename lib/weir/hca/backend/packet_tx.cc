#include "weir/hca/backend/packet_tx.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "weir/hca/backend/packet_socket.h"

namespace weir::hca {
namespace {

constexpr int kSendBufferBytes = 4 << 20;

// Why a frame can never be sent; nothing if it may go later.
std::optional<PacketCount> DropReason(int error) noexcept {
  switch (error) {
    case EAGAIN:
    case ENOBUFS:
    case ENOMEM:
    case EINTR:
      return std::nullopt;
    case EMSGSIZE:
      return PacketCount::kTxTooLong;
    case ENETDOWN:
      return PacketCount::kTxLinkDown;
    case ENXIO:
    case ENODEV:
      return PacketCount::kTxNoNetdev;
    default:
      return PacketCount::kTxFailed;
  }
}

void CopyPadded(const TxFrame& frame, std::span<std::byte> to) noexcept {
  size_t filled = 0;
  for (const iovec& segment : frame.segments) {
    if (segment.iov_len == 0) continue;
    std::memcpy(to.data() + filled, segment.iov_base, segment.iov_len);
    filled += segment.iov_len;
  }
  std::memset(to.data() + filled, 0, to.size() - filled);
}

}  // namespace

absl::StatusOr<PacketTx> PacketTx::Create(const NetdevFacts& netdev,
                                          absl::string_view object) {
  absl::StatusOr<UniqueFd> fd = OpenPacketSocket(object);
  if (!fd.ok()) return fd.status();
  GrowSocketBuffer(fd->get(), SO_SNDBUFFORCE, SO_SNDBUF, kSendBufferBytes);
  const absl::Status bound =
      BindPacketSocket(fd->get(), netdev.index, 0, object);
  if (!bound.ok()) return bound;
  return PacketTx(*std::move(fd));
}

size_t PacketTx::Transmit(std::span<const TxFrame> frames,
                          PacketCounters& counters) noexcept {
  size_t taken = 0;
  while (taken < frames.size()) {
    const size_t offered = Prepare(frames.subspan(taken));
    if (offered == 0) {
      counters.Add(PacketCount::kTxFailed, 1);
      ++taken;
      continue;
    }
    const int sent = sendmmsg(fd_.get(), messages_.data(),
                              static_cast<unsigned>(offered), MSG_DONTWAIT);
    if (sent > 0) {
      taken += static_cast<size_t>(sent);
      continue;
    }
    // About the first frame that was offered.
    const std::optional<PacketCount> reason = DropReason(errno);
    if (!reason.has_value()) break;
    counters.Add(*reason, 1);
    ++taken;
  }
  return taken;
}

// Fills messages_ from the front of `frames`; how many, 0 only if the first has
// more segments than there is room for.
size_t PacketTx::Prepare(std::span<const TxFrame> frames) noexcept {
  size_t used_segments = 0;
  size_t count = 0;
  for (; count < std::min(frames.size(), kBurst); ++count) {
    const TxFrame& frame = frames[count];
    const bool is_short = frame.length_bytes < net::kMinFrameBytes;
    const size_t wanted = is_short ? 1 : frame.segments.size();
    if (wanted > segments_.size() - used_segments) break;
    iovec* const to = segments_.data() + used_segments;
    if (is_short) {
      CopyPadded(frame, padded_[count]);
      *to = {padded_[count].data(), padded_[count].size()};
    } else {
      std::copy(frame.segments.begin(), frame.segments.end(), to);
    }
    messages_[count].msg_hdr.msg_iov = to;
    messages_[count].msg_hdr.msg_iovlen = wanted;
    used_segments += wanted;
  }
  return count;
}

}  // namespace weir::hca
