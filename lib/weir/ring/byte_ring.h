// A queue of records of any length from one thread to another: how the frames
// of a wire travel. Each record lies in one piece, so that the receiver can use
// it in place; it stays there until it is released.
//
// The indices count bytes, run free and wrap by themselves; an offset is an
// index modulo the capacity. Each side keeps a private copy of the other's
// index and reads the real one only when the copy says full or empty. What both
// sides share are the indices and the bytes, which hold no pointers: they may
// lie in memory that two processes map.

#ifndef WEIR_RING_BYTE_RING_H_
#define WEIR_RING_BYTE_RING_H_

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "weir/base/cache_line.h"

namespace weir {

// The shared part besides the bytes: bytes published and bytes released, ever.
struct ByteRingIndices {
  alignas(kCacheLine) std::atomic<uint64_t> published{0};
  alignas(kCacheLine) std::atomic<uint64_t> released{0};
};

namespace internal {

// In front of each record. A length of kSkip says that the rest of the memory
// up to its end is unused.
using ByteRingLength = uint64_t;
inline constexpr ByteRingLength kByteRingSkip =
    std::numeric_limits<ByteRingLength>::max();

// The bytes that a record takes; a multiple of the header, so that a header
// always fits before the end of the memory.
constexpr uint64_t ByteRingStride(uint64_t length) noexcept {
  return sizeof(ByteRingLength) + ((length + sizeof(ByteRingLength) - 1) &
                                   ~(sizeof(ByteRingLength) - 1));
}

}  // namespace internal

// The smallest memory on which a record of `length` bytes always fits once the
// ring is empty. Any thread.
constexpr size_t ByteRingBytesFor(size_t length) noexcept {
  return std::bit_ceil(
      std::max(kCacheLine, 2 * internal::ByteRingStride(length)));
}

// The sending end. One thread at a time; a new writer on old indices goes on
// where the last one published.
class ByteRingWriter {
 public:
  // On memory that outlives this object: `bytes` is a power of two of at least
  // 64 in size and aligned to 8. Control thread, before Launch.
  ByteRingWriter(ByteRingIndices& indices, std::span<std::byte> bytes) noexcept
      : indices_(&indices),
        bytes_(bytes),
        written_(indices.published.load(std::memory_order_acquire)),
        released_(indices.released.load(std::memory_order_acquire)) {
    assert(std::has_single_bit(bytes.size()) && bytes.size() >= kCacheLine);
  }

  // The longest record that always fits once the ring is empty. Any thread.
  size_t max_record_bytes() const noexcept {
    return bytes_.size() / 2 - sizeof(internal::ByteRingLength);
  }

  // Room for a record of `length` bytes, at most max_record_bytes(), to be
  // filled before Publish; nothing while the ring is too full. Owner lcore
  // only.
  std::optional<std::span<std::byte>> Append(size_t length) noexcept {
    assert(length <= max_record_bytes());
    const uint64_t stride = internal::ByteRingStride(length);
    const uint64_t offset = written_ & (bytes_.size() - 1);
    const uint64_t to_end = bytes_.size() - offset;
    const uint64_t skip = stride > to_end ? to_end : 0;
    if (!HasRoom(skip + stride)) return std::nullopt;
    if (skip != 0) StoreLength(offset, internal::kByteRingSkip);
    const uint64_t start = skip == 0 ? offset : 0;
    StoreLength(start, length);
    written_ += skip + stride;
    return bytes_.subspan(start + sizeof(internal::ByteRingLength), length);
  }

  // Shows all that was appended to the reader. Owner lcore only.
  void Publish() noexcept {
    indices_->published.store(written_, std::memory_order_release);
  }

 private:
  bool HasRoom(uint64_t wanted) noexcept {
    if (written_ + wanted - released_ <= bytes_.size()) return true;
    released_ = indices_->released.load(std::memory_order_acquire);
    return written_ + wanted - released_ <= bytes_.size();
  }

  void StoreLength(uint64_t offset, internal::ByteRingLength length) noexcept {
    std::memcpy(bytes_.data() + offset, &length, sizeof length);
  }

  ByteRingIndices* indices_;
  std::span<std::byte> bytes_;
  uint64_t written_;
  uint64_t released_;
};

// The receiving end. One thread at a time; a new reader on old indices goes on
// where the last one released.
class ByteRingReader {
 public:
  // On the memory of the writer. Control thread, before Launch.
  ByteRingReader(ByteRingIndices& indices, std::span<std::byte> bytes) noexcept
      : indices_(&indices),
        bytes_(bytes),
        released_(indices.released.load(std::memory_order_acquire)),
        published_(released_) {}

  // Calls visit(std::span<const std::byte>) on the oldest records that are not
  // released, `max` at most, and returns how many. They stay where they are
  // until Release. Owner lcore only.
  template <typename Visit>
  size_t Peek(size_t max, Visit&& visit) noexcept {
    uint64_t position = released_;
    size_t count = 0;
    while (count < max && HasRecord(position)) {
      const uint64_t length = SkipToRecord(position);
      visit(std::span<const std::byte>(
          bytes_.data() + Offset(position) + sizeof(internal::ByteRingLength),
          length));
      position += internal::ByteRingStride(length);
      ++count;
    }
    return count;
  }

  // Gives back the oldest `count` records, which Peek must have shown. Owner
  // lcore only.
  void Release(size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) {
      const uint64_t length = SkipToRecord(released_);
      released_ += internal::ByteRingStride(length);
    }
    indices_->released.store(released_, std::memory_order_release);
  }

  // Gives back every record that is published, unseen. Owner lcore only.
  void ReleaseAll() noexcept {
    released_ = indices_->published.load(std::memory_order_acquire);
    published_ = released_;
    indices_->released.store(released_, std::memory_order_release);
  }

  // True if Peek would show nothing. Owner lcore only.
  bool empty() noexcept { return !HasRecord(released_); }

 private:
  // A writer publishes no skip without the record behind it.
  bool HasRecord(uint64_t position) noexcept {
    if (position != published_) return true;
    published_ = indices_->published.load(std::memory_order_acquire);
    return position != published_;
  }

  // Moves `position` over unused memory to the next record; its length.
  uint64_t SkipToRecord(uint64_t& position) const noexcept {
    uint64_t length = LoadLength(position);
    if (length == internal::kByteRingSkip) {
      position += bytes_.size() - Offset(position);
      length = LoadLength(position);
    }
    return length;
  }

  uint64_t Offset(uint64_t position) const noexcept {
    return position & (bytes_.size() - 1);
  }

  internal::ByteRingLength LoadLength(uint64_t position) const noexcept {
    internal::ByteRingLength length;
    std::memcpy(&length, bytes_.data() + Offset(position), sizeof length);
    return length;
  }

  ByteRingIndices* indices_;
  std::span<std::byte> bytes_;
  uint64_t released_;
  uint64_t published_;
};

}  // namespace weir

#endif  // WEIR_RING_BYTE_RING_H_
