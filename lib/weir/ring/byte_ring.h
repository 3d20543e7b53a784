// A queue of records of any length from one thread to another: how the frames
// of a wire travel. Each record lies in one piece, so that the receiver can use
// it in place; it stays there until it is released.
//
// The indices count bytes, run free and wrap by themselves; an offset is an
// index modulo the capacity. Each side keeps a private copy of the other's
// index and reads the real one only when the copy says full or empty. What both
// sides share are the indices and the bytes, which hold no pointers: they may
// lie in memory that two processes map.
//
// Either side may die at any instruction, and another go on in its place: each
// index is one word that only its side stores, after (release) all that it
// stands for, so that what is published is whole and what is released is done
// with. Indices never go back; a new side starts from the stored ones.

#ifndef WEIR_RING_BYTE_RING_H_
#define WEIR_RING_BYTE_RING_H_

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
#include "weir/ring/byte_ring_layout.h"

namespace weir {

// The sending end. One thread at a time; a new writer on old indices goes on
// where the last one published.
class ByteRingWriter {
 public:
  // On memory that outlives this object: `bytes` is a power of two from 64 to
  // 2^31 in size and aligned to 8. Control thread, before Launch.
  ByteRingWriter(ByteRingIndices& indices, std::span<std::byte> bytes) noexcept
      : indices_(&indices),
        bytes_(bytes),
        written_(indices.published.load(std::memory_order_acquire)),
        released_(indices.released.load(std::memory_order_acquire)) {
    assert(std::has_single_bit(bytes.size()) && bytes.size() >= kCacheLine);
  }

  // The longest record that always fits once the ring is empty. Any thread.
  size_t max_record_bytes() const noexcept {
    return bytes_.size() / 2 - sizeof(internal::ByteRingHeader);
  }

  // True if Append of `length` bytes, at most max_record_bytes(), would succeed
  // now. Owner lcore only.
  bool Fits(size_t length) noexcept {
    const uint64_t stride = internal::ByteRingStride(length);
    return HasRoom(SkipFor(stride) + stride);
  }

  // Room for a record of `length` bytes, at most max_record_bytes(), to be
  // filled before Publish; nothing while the ring is too full. The reader gets
  // `tag` with it. Owner lcore only.
  std::optional<std::span<std::byte>> Append(size_t length,
                                             uint32_t tag) noexcept {
    assert(length <= max_record_bytes());
    const uint64_t stride = internal::ByteRingStride(length);
    const uint64_t offset = written_ & (bytes_.size() - 1);
    const uint64_t skip = SkipFor(stride);
    if (!HasRoom(skip + stride)) return std::nullopt;
    if (skip != 0) StoreHeader(offset, {internal::kByteRingSkip, 0});
    const uint64_t start = skip == 0 ? offset : 0;
    StoreHeader(start, {static_cast<uint32_t>(length), tag});
    written_ += skip + stride;
    return bytes_.subspan(start + sizeof(internal::ByteRingHeader), length);
  }

  // Shows all that was appended to the reader. Owner lcore only.
  void Publish() noexcept {
    indices_->published.store(written_, std::memory_order_release);
  }

 private:
  // What is left unused in front of a record that would not lie in one piece.
  uint64_t SkipFor(uint64_t stride) const noexcept {
    const uint64_t to_end = bytes_.size() - (written_ & (bytes_.size() - 1));
    return stride > to_end ? to_end : 0;
  }

  bool HasRoom(uint64_t wanted) noexcept {
    if (written_ + wanted - released_ <= bytes_.size()) return true;
    released_ = indices_->released.load(std::memory_order_acquire);
    return written_ + wanted - released_ <= bytes_.size();
  }

  void StoreHeader(uint64_t offset, internal::ByteRingHeader header) noexcept {
    // One word by shifts: compilers would build it in a vector register.
    const uint64_t word = header.length | uint64_t{header.tag} << 32;
    std::memcpy(bytes_.data() + offset, &word, sizeof word);
  }

  ByteRingIndices* indices_;
  std::span<std::byte> bytes_;
  uint64_t written_;
  uint64_t released_;
};

// The receiving end. One thread at a time; a new reader on old indices goes on
// where the last one released. It reads nothing outside its memory whatever a
// damaged ring says: such a ring is emptied and counted.
class ByteRingReader {
 public:
  // On the memory of the writer. Control thread, before Launch.
  ByteRingReader(ByteRingIndices& indices, std::span<std::byte> bytes) noexcept
      : indices_(&indices),
        bytes_(bytes),
        released_(indices.released.load(std::memory_order_acquire)),
        taken_(released_),
        published_(released_) {}

  // Calls visit(std::span<const std::byte>, uint32_t tag) on the oldest records
  // that no Take has shown, `max` at most, and returns how many. They stay
  // where they are until Release. Owner lcore only.
  template <typename Visit>
  size_t Take(size_t max, Visit&& visit) noexcept {
    size_t count = 0;
    // A copy, which stays in a register whatever visit() writes.
    uint64_t taken = taken_;
    while (count < max && HasRecord(taken)) {
      const std::optional<Record> record = RecordAt(taken);
      if (!record.has_value()) [[unlikely]] {
        Abandon(taken);
        return count;
      }
      visit(record->bytes, record->tag);
      taken = record->end;
      ++count;
    }
    taken_ = taken;
    return count;
  }

  // Lets Take begin again with the oldest record that is not released. Owner
  // lcore only.
  void Rewind() noexcept { taken_ = released_; }

  // Gives back the oldest `count` records, which Take must have shown. Owner
  // lcore only.
  void Release(size_t count) noexcept {
    for (size_t i = 0; i < count && released_ != taken_; ++i) {
      const std::optional<Record> record = RecordAt(released_);
      released_ = record.has_value() ? record->end : taken_;
    }
    indices_->released.store(released_, std::memory_order_release);
  }

  // Gives back all that Take has shown; cheaper than to count. Owner lcore
  // only.
  void ReleaseTaken() noexcept {
    if (released_ == taken_) return;
    released_ = taken_;
    indices_->released.store(released_, std::memory_order_release);
  }

  // Gives back every record that is published; how many Take had not shown.
  // Owner lcore only.
  size_t ReleaseAll() noexcept {
    const size_t unseen = Take(std::numeric_limits<size_t>::max(),
                               [](std::span<const std::byte>, uint32_t) {});
    ReleaseTaken();
    return unseen;
  }

  // True if Take would show nothing. Owner lcore only.
  bool empty() noexcept { return !HasRecord(taken_); }

  // How often the ring was found damaged and emptied. Owner lcore only.
  uint64_t damages() const noexcept { return damages_; }

 private:
  struct Record {
    std::span<const std::byte> bytes;
    uint32_t tag;
    uint64_t end;
  };

  // A writer publishes no skip without the record behind it.
  bool HasRecord(uint64_t position) noexcept {
    if (position != published_) return true;
    published_ = indices_->published.load(std::memory_order_acquire);
    return position != published_;
  }

  // The record at `position`, behind unused memory if there is some; nothing if
  // it does not lie between there and published_.
  std::optional<Record> RecordAt(uint64_t position) const noexcept {
    const uint64_t limit = published_ - position;
    if (limit > bytes_.size()) [[unlikely]]
      return std::nullopt;
    internal::ByteRingHeader header = LoadHeader(position);
    uint64_t skip = 0;
    if (header.length == internal::kByteRingSkip) {
      skip = bytes_.size() - Offset(position);
      header = LoadHeader(0);
    }
    const uint64_t offset = Offset(position + skip);
    const uint64_t stride = internal::ByteRingStride(header.length);
    if (skip + stride > limit || offset + stride > bytes_.size()) [[unlikely]] {
      return std::nullopt;
    }
    return Record{.bytes = bytes_.subspan(
                      offset + sizeof(internal::ByteRingHeader), header.length),
                  .tag = header.tag,
                  .end = position + skip + stride};
  }

  // Gives up what is published behind `taken` and cannot be understood; what
  // was shown before stays until it is released.
  void Abandon(uint64_t taken) noexcept {
    ++damages_;
    const bool any_shown = released_ != taken;
    taken_ = published_;
    if (!any_shown) ReleaseTaken();
  }

  uint64_t Offset(uint64_t position) const noexcept {
    return position & (bytes_.size() - 1);
  }

  internal::ByteRingHeader LoadHeader(uint64_t position) const noexcept {
    // Taken apart by shifts: compilers would go through a vector register, and
    // the next record cannot be looked for before the length is there.
    uint64_t word = 0;
    std::memcpy(&word, bytes_.data() + Offset(position), sizeof word);
    return {.length = static_cast<uint32_t>(word),
            .tag = static_cast<uint32_t>(word >> 32)};
  }

  ByteRingIndices* indices_;
  std::span<std::byte> bytes_;
  uint64_t released_;
  uint64_t taken_;
  uint64_t published_;
  uint64_t damages_ = 0;
};

}  // namespace weir

#endif  // WEIR_RING_BYTE_RING_H_
