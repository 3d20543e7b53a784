// The rings that an AF_XDP socket shares with the kernel
// (Documentation/networking/af_xdp.rst of Linux): free-running indices, one
// side produces, the other consumes. Here they are spans over mapped memory;
// who maps it is XdpSocket.

#ifndef WEIR_HCA_BACKEND_XDP_XDP_RING_H_
#define WEIR_HCA_BACKEND_XDP_XDP_RING_H_

#include <linux/if_xdp.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::hca {

// Where the parts of a ring are. `entries` has a power of two of them.
template <typename Entry>
struct XdpRingParts {
  uint32_t* producer;
  uint32_t* consumer;
  uint32_t* flags;
  std::span<Entry> entries;
};

// A ring that we fill: fill (addresses) or TX (descriptors). Owner lcore only.
template <typename Entry>
class XdpProducer {
 public:
  XdpProducer() = default;
  explicit XdpProducer(const XdpRingParts<Entry>& parts) noexcept
      : parts_(parts), mask_(static_cast<uint32_t>(parts.entries.size()) - 1) {}

  // There must be room: owners keep count of what they can push.
  void Push(const Entry& entry) noexcept {
    parts_.entries[next_++ & mask_] = entry;
  }

  // Shows the kernel what was pushed. What is read from the ring afterwards is
  // read afterwards: the store is a full barrier.
  void Submit() noexcept { std::atomic_ref(*parts_.producer).store(next_); }

  // True if the kernel sleeps until a system call. Any thread.
  bool NeedsWakeup() const noexcept {
    return (std::atomic_ref(*parts_.flags).load() & XDP_RING_NEED_WAKEUP) != 0;
  }

  // Entries that the kernel has not taken yet. Any thread.
  uint32_t Pending() const noexcept {
    return std::atomic_ref(*parts_.producer).load() -
           std::atomic_ref(*parts_.consumer).load();
  }

 private:
  XdpRingParts<Entry> parts_{};
  uint32_t mask_ = 0;
  uint32_t next_ = 0;
};

// A ring that the kernel fills: RX (descriptors) or completion (addresses).
// Owner lcore only.
template <typename Entry>
class XdpConsumer {
 public:
  XdpConsumer() = default;
  explicit XdpConsumer(const XdpRingParts<Entry>& parts) noexcept
      : parts_(parts), mask_(static_cast<uint32_t>(parts.entries.size()) - 1) {}

  // Entries that wait.
  uint32_t Waiting() const noexcept {
    return std::atomic_ref(*parts_.producer).load() - next_;
  }

  // Entry `index` of those that wait.
  const Entry& Peek(uint32_t index) const noexcept {
    return parts_.entries[(next_ + index) & mask_];
  }

  // Gives the first `count` entries back.
  void Release(uint32_t count) noexcept {
    next_ += count;
    std::atomic_ref(*parts_.consumer).store(next_);
  }

 private:
  XdpRingParts<Entry> parts_{};
  uint32_t mask_ = 0;
  uint32_t next_ = 0;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_XDP_XDP_RING_H_
