#include "weir/hca/backend/packet_ring.h"

#include <linux/if_ether.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "weir/base/errno_status.h"
#include "weir/hca/backend/packet_socket.h"
#include "weir/net/ethernet.h"

namespace weir::hca {
namespace {

// 16384 frames of up to 1500 bytes of MTU: 11 ms of 64-byte frames at 1 Gbit/s.
constexpr size_t kRingBytes = size_t{32} << 20;
constexpr size_t kBlockBytes = size_t{256} << 10;
constexpr size_t kMinSlotBytes = 2048;
// In a slot in front of the frame: header, address, alignment, offloads.
constexpr size_t kSlotOverheadBytes = 128;
static_assert(TPACKET2_HDRLEN + TPACKET_ALIGNMENT + ETH_HLEN +
                  sizeof(OffloadHeader) <=
              kSlotOverheadBytes);
// For frames longer than a slot.
constexpr int kReceiveBufferBytes = 64 << 20;

// The longest frame of the netdev fits; a power of two, so that a block holds a
// whole number.
size_t SlotBytes(uint32_t mtu_bytes) noexcept {
  return std::clamp(
      std::bit_ceil(mtu_bytes + net::kL2OverheadBytes + kSlotOverheadBytes),
      kMinSlotBytes, kBlockBytes);
}

absl::Status SetOptions(int fd, absl::string_view object) {
  struct Option {
    int name;
    int value;
    absl::string_view call;
  };
  const Option options[] = {
      {PACKET_VERSION, TPACKET_V2, "setsockopt(PACKET_VERSION)"},
      {PACKET_VNET_HDR, 1, "setsockopt(PACKET_VNET_HDR)"},
      {PACKET_COPY_THRESH, 1, "setsockopt(PACKET_COPY_THRESH)"},
      {PACKET_IGNORE_OUTGOING, 1, "setsockopt(PACKET_IGNORE_OUTGOING)"},
  };
  for (const Option& option : options) {
    absl::Status set = SetPacketOption(fd, option.name, option.value,
                                       {.object = object, .call = option.call});
    if (!set.ok()) return set;
  }
  GrowSocketBuffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, kReceiveBufferBytes);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PacketRing> PacketRing::Create(const NetdevFacts& netdev,
                                              absl::string_view object) {
  absl::StatusOr<UniqueFd> fd = OpenPacketSocket(object);
  if (!fd.ok()) return fd.status();
  absl::Status status = SetOptions(fd->get(), object);
  if (!status.ok()) return status;

  const size_t slot_bytes = SlotBytes(netdev.mtu_bytes);
  tpacket_req request{};
  request.tp_block_size = kBlockBytes;
  request.tp_block_nr = kRingBytes / kBlockBytes;
  request.tp_frame_size = static_cast<unsigned>(slot_bytes);
  request.tp_frame_nr = static_cast<unsigned>(kRingBytes / slot_bytes);
  status = SetPacketOption(fd->get(), PACKET_RX_RING, request,
                           {.object = object,
                            .call = "setsockopt(PACKET_RX_RING)",
                            .remedy = "needs 32 MiB of kernel memory"});
  if (!status.ok()) return status;
  void* memory = mmap(nullptr, kRingBytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_POPULATE, fd->get(), 0);
  if (memory == MAP_FAILED) {
    return ErrnoStatus(errno, {.object = object, .call = "mmap of the ring"});
  }
  PacketRing ring(*std::move(fd), {static_cast<std::byte*>(memory), kRingBytes},
                  slot_bytes);
  status = JoinPromiscuous(ring.fd(), netdev.index, object);
  if (!status.ok()) return status;
  status = BindPacketSocket(ring.fd(), netdev.index, ETH_P_ALL, object);
  if (!status.ok()) return status;
  return ring;
}

PacketRing::PacketRing(PacketRing&& other) noexcept
    : fd_(std::move(other.fd_)),
      memory_(std::exchange(other.memory_, {})),
      slot_bytes_(other.slot_bytes_),
      slots_(other.slots_),
      next_(other.next_) {}

PacketRing& PacketRing::operator=(PacketRing&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(memory_, other.memory_);
  std::swap(slot_bytes_, other.slot_bytes_);
  std::swap(slots_, other.slots_);
  std::swap(next_, other.next_);
  return *this;
}

PacketRing::~PacketRing() {
  if (!memory_.empty()) munmap(memory_.data(), memory_.size());
}

uint64_t PacketRing::TakeDrops() const noexcept {
  tpacket_stats stats{};
  socklen_t length = sizeof stats;
  if (getsockopt(fd(), SOL_PACKET, PACKET_STATISTICS, &stats, &length) != 0) {
    return 0;
  }
  return stats.tp_drops;
}

std::span<std::byte> PacketRing::ReadCopy(OffloadHeader& header,
                                          std::span<std::byte> room) noexcept {
  iovec parts[] = {{&header, sizeof header}, {room.data(), room.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = std::size(parts);
  ssize_t got = recvmsg(fd(), &message, MSG_DONTWAIT);
  // The first call may only tell that the link went down meanwhile.
  if (got < 0 && errno != EAGAIN) got = recvmsg(fd(), &message, MSG_DONTWAIT);
  const auto least = static_cast<ssize_t>(sizeof header);
  if (got < least || (message.msg_flags & MSG_TRUNC) != 0) return {};
  return room.first(static_cast<size_t>(got - least));
}

// The status word is how the two sides hand over a slot.
uint32_t* PacketSlot::status() const noexcept {
  return reinterpret_cast<uint32_t*>(base_ + offsetof(tpacket2_hdr, tp_status));
}

bool PacketSlot::is_filled() const noexcept {
  return (std::atomic_ref(*status()).load() & TP_STATUS_USER) != 0;
}

tpacket2_hdr PacketSlot::header() const noexcept {
  tpacket2_hdr header;
  std::memcpy(&header, base_, sizeof header);
  return header;
}

OffloadHeader PacketSlot::offload_header() const noexcept {
  OffloadHeader header;
  std::memcpy(&header, frame().data() - sizeof header, sizeof header);
  return header;
}

std::span<std::byte> PacketSlot::frame() const noexcept {
  const tpacket2_hdr facts = header();
  return {base_ + facts.tp_mac, facts.tp_snaplen};
}

void PacketSlot::Release() noexcept {
  std::atomic_ref(*status()).store(TP_STATUS_KERNEL);
}

}  // namespace weir::hca
