// What lies where in the file of a wire, which all processes with an end of it
// map: a header, then a ring for each pair of ends and direction. The file is
// sparse; rings of pairs that are never both open take no memory.
//
// Every word has one writer at a time: an index of a ring the end that writes
// or reads the ring, all else whoever holds the lock of the file. A process may
// die between any two stores.

#ifndef WEIR_HCA_BACKEND_WIRE_LAYOUT_H_
#define WEIR_HCA_BACKEND_WIRE_LAYOUT_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "weir/base/cache_line.h"
#include "weir/ring/byte_ring_layout.h"
#include "weir/ring/doorbell.h"

namespace weir::hca {

// As many as there are letters from a to p.
inline constexpr size_t kWireEnds = 16;

// "WEIRWIRE" in memory on a little-endian machine, so that a file says what it
// is; a file made on a machine of the other order is foreign.
inline constexpr uint64_t kWireMagic = 0x4552495752494557;
// One more whenever anything below changes.
inline constexpr uint32_t kWireVersion = 1;

// What the first end to open decides for all.
struct WireGeometry {
  uint32_t mtu_bytes;
  // Of each ring, a power of two.
  uint64_t ring_bytes;
};

// One end. Odd generations are those in which it is open, or was when its
// process died; each opening and each end of one is the next.
struct WireSlot {
  alignas(kCacheLine) std::atomic<uint32_t> generation{0};
  Doorbell doorbell;
};

// The way from one end to another.
struct WirePath {
  ByteRingIndices indices;
  // Frames that were on the way when the end they went to was closed or died.
  alignas(kCacheLine) std::atomic<uint64_t> abandoned{0};
};

struct WireHeader {
  // Stored last: a file without it was never finished.
  std::atomic<uint64_t> magic{0};
  uint32_t version = kWireVersion;
  uint32_t ends = kWireEnds;
  WireGeometry geometry{};
  // Goes up after any generation has.
  alignas(kCacheLine) std::atomic<uint64_t> membership{0};
  std::array<WireSlot, kWireEnds> slots;
  // By sender, then receiver.
  std::array<std::array<WirePath, kWireEnds>, kWireEnds> paths;
};

static_assert(std::atomic<uint64_t>::is_always_lock_free &&
              std::atomic<uint32_t>::is_always_lock_free);

// Rings begin on pages, so that each can be mapped alone. 4096 is the page of
// x86-64 and of most ARMv8 kernels; a larger one is refused by mmap.
inline constexpr size_t kWirePageBytes = 4096;

constexpr size_t WireRingStride(const WireGeometry& geometry) noexcept {
  return std::max<size_t>(geometry.ring_bytes, kWirePageBytes);
}
constexpr size_t WireHeaderBytes() noexcept {
  return (sizeof(WireHeader) + kWirePageBytes - 1) & ~(kWirePageBytes - 1);
}
// Where in the file the ring from one end to another begins. Any thread.
constexpr size_t WireRingOffset(const WireGeometry& geometry, size_t from,
                                size_t to) noexcept {
  return WireHeaderBytes() + (from * kWireEnds + to) * WireRingStride(geometry);
}
constexpr size_t WireFileBytes(const WireGeometry& geometry) noexcept {
  return WireRingOffset(geometry, kWireEnds, 0);
}

// The letter of an end in keys, addresses and file names. Any thread.
constexpr char WireEndLetter(size_t end) noexcept {
  return static_cast<char>('a' + end);
}

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_WIRE_LAYOUT_H_
