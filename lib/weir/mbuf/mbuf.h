// One segment of a packet: 64 bytes of metadata, kept in an array of their own,
// apart from the payload. Metadata is then dense in cache and payload chunks
// keep the alignment that devices want.
//
// Payload may be shared: a reference is a segment that points into the chunk of
// another mbuf (MbufCache::Refer). Tags in the chain pointer, which whoever
// frees a packet reads anyway, say that a segment has to be looked at.

#ifndef WEIR_MBUF_MBUF_H_
#define WEIR_MBUF_MBUF_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "weir/base/cache_line.h"
#include "weir/mbuf/packet_info.h"

namespace weir {

// A packet is a chain of one or more mbufs; what is said of the whole frame
// stands in the first one. An Mbuf* is borrowed from a Burst, an MbufPtr or a
// queue: it never owns. Owner lcore only.
class alignas(kCacheLine) Mbuf {
 public:
  // The first byte of this segment, and all of its bytes.
  std::byte* data() noexcept { return data_; }
  const std::byte* data() const noexcept { return data_; }
  std::span<std::byte> bytes() noexcept { return {data_, data_bytes_}; }
  std::span<const std::byte> bytes() const noexcept {
    return {data_, data_bytes_};
  }
  uint32_t data_bytes() const noexcept { return data_bytes_; }

  // First segment only: bytes of the whole frame, number of segments.
  uint32_t frame_bytes() const noexcept { return frame_bytes_; }
  uint32_t segments() const noexcept { return segments_; }

  // The segment after this one, null at the end.
  Mbuf* next() noexcept { return reinterpret_cast<Mbuf*>(next_ & ~kTags); }
  const Mbuf* next() const noexcept {
    return reinterpret_cast<const Mbuf*>(next_ & ~kTags);
  }

  // First segment only: false if nobody shares a byte of the frame. It may then
  // be freed unseen and cross to another lcore; CopyPacket makes one that may.
  bool may_share() const noexcept { return (next_ & kMayShare) != 0; }
  // Whether others use the bytes of this segment too, or did when it was made.
  // A segment that is shared must not be written to.
  bool is_shared() const noexcept {
    return (next_ & kReference) != 0 || users_ != 0;
  }

  // Bytes of the chunk in front of and behind the data of this segment that may
  // be written to: of a shared segment none.
  uint32_t headroom_bytes() const noexcept {
    return is_shared() ? 0 : static_cast<uint32_t>(data_ - chunk_);
  }
  uint32_t tailroom_bytes() const noexcept {
    return is_shared() ? 0
                       : static_cast<uint32_t>(chunk_ + chunk_bytes_ - data_) -
                             data_bytes_;
  }

  // The header of type T `offset` bytes into the first segment, null if the
  // segment ends before the header does. The only cast from bytes to a header.
  template <typename T>
  T* Header(uint32_t offset) noexcept {
    static_assert(std::is_trivial_v<T> && alignof(T) == 1,
                  "a wire header is trivial and has alignment 1");
    if (data_bytes_ < sizeof(T) || offset > data_bytes_ - sizeof(T)) {
      return nullptr;
    }
    return reinterpret_cast<T*>(data_ + offset);
  }

  // Receive time in nanoseconds since the Unix epoch, 0 if the device has none.
  uint64_t timestamp_ns() const noexcept { return timestamp_ns_; }
  void set_timestamp_ns(uint64_t ns) noexcept { timestamp_ns_ = ns; }

  // First segment only: what Parse found; the hash of the flow, 0 if nobody
  // computed one.
  PacketInfo& info() noexcept { return info_; }
  const PacketInfo& info() const noexcept { return info_; }
  uint32_t hash() const noexcept { return hash_; }
  void set_hash(uint32_t hash) noexcept { hash_ = hash; }

  // Makes this a frame of one empty segment, not parsed, whose data starts
  // `headroom_bytes` into the chunk.
  void Reset(uint32_t headroom_bytes) noexcept {
    assert(headroom_bytes <= chunk_bytes_);
    // In the order of the fields: neighbours become one store.
    data_ = chunk_ + headroom_bytes;
    next_ = 0;
    timestamp_ns_ = 0;
    data_bytes_ = 0;
    frame_bytes_ = 0;
    hash_ = 0;
    segments_ = 1;
    info_ = {};
  }

  // Sets the length of the only segment and of the frame, from the data on.
  void SetLength(uint32_t bytes) noexcept {
    assert(bytes <= static_cast<uint32_t>(chunk_ + chunk_bytes_ - data_));
    data_bytes_ = bytes;
    frame_bytes_ = bytes;
  }

  // Appends `tail`, a frame of its own until now, to this first segment of a
  // frame that ends in `last`, maybe this one. Frames have 65535 at most.
  void Append(Mbuf& last, Mbuf& tail) noexcept {
    assert(last.next() == nullptr);
    last.next_ |= reinterpret_cast<uintptr_t>(&tail);
    next_ |= tail.next_ & kMayShare;
    frame_bytes_ += tail.frame_bytes_;
    segments_ = static_cast<uint16_t>(segments_ + tail.segments_);
  }

  // Makes this the first segment of a frame like that of `like`, with data of
  // its own after `headroom_bytes` and `reference`, made by Refer, behind it.
  void LeadLike(const Mbuf& like, uint32_t headroom_bytes,
                Mbuf& reference) noexcept {
    std::memcpy(static_cast<void*>(this), &like, offsetof(Mbuf, chunk_));
    data_ = chunk_ + headroom_bytes;
    next_ = reinterpret_cast<uintptr_t>(&reference) | kMayShare;
  }

  // Makes this segment, whose chain is given up, a frame of its own again: of
  // the `bytes` bytes from `offset` on. What is said of the frame stays.
  void Detach(uint32_t offset, uint32_t bytes) noexcept {
    assert(offset <= data_bytes_ && bytes <= data_bytes_ - offset);
    data_ += offset;
    next_ &= kTags;
    data_bytes_ = bytes;
    frame_bytes_ = bytes;
    segments_ = 1;
  }

  // First segment: cuts `bytes` off its front, which it must have; the data
  // stays where it is.
  void TrimFront(uint32_t bytes) noexcept {
    assert(bytes <= data_bytes_);
    data_ += bytes;
    data_bytes_ -= bytes;
    frame_bytes_ -= bytes;
  }

  // The same off the end of a frame, in `last`, which must have them.
  void TrimBack(Mbuf& last, uint32_t bytes) noexcept {
    assert(bytes <= last.data_bytes_);
    last.data_bytes_ -= bytes;
    frame_bytes_ -= bytes;
  }

  // First segment: takes `bytes` of the headroom in front of the data.
  void Prepend(uint32_t bytes) noexcept {
    assert(bytes <= headroom_bytes());
    data_ -= bytes;
    data_bytes_ += bytes;
    frame_bytes_ += bytes;
  }

  // First segment: moves `bytes` from the front of the segment behind it, which
  // must have them, to its own tailroom, which must be as large. A segment that
  // gave all it had has to go: UnlinkNext.
  void PullFromNext(uint32_t bytes) noexcept {
    Mbuf& behind = *next();
    assert(bytes <= tailroom_bytes() && bytes <= behind.data_bytes_);
    std::memcpy(data_ + data_bytes_, behind.data_, bytes);
    data_bytes_ += bytes;
    behind.data_ += bytes;
    behind.data_bytes_ -= bytes;
  }

  // First segment: gives the one behind it, which must be empty, to the caller.
  Mbuf& UnlinkNext() noexcept {
    Mbuf& behind = *next();
    assert(behind.data_bytes_ == 0);
    next_ = (next_ & kTags) | (behind.next_ & ~kTags);
    --segments_;
    behind.Detach(0, 0);
    return behind;
  }

  // A frame of one segment that shares nothing.
  bool is_plain() const noexcept { return next_ == 0; }

  // For chains of many plain frames at once, none of which is read for it: who
  // follows this segment; of the first segment, what is said of the whole
  // frame.
  void SetNext(Mbuf& next) noexcept {
    next_ = reinterpret_cast<uintptr_t>(&next);
  }
  void SetFrame(uint32_t frame_bytes, uint32_t segments) noexcept {
    frame_bytes_ = frame_bytes;
    segments_ = static_cast<uint16_t>(segments);
  }

 private:
  friend class MbufCache;
  friend class MbufPool;

  // Tags of next_. On the first segment of a chain in which any segment is a
  // reference or has users, and on those; on a reference.
  static constexpr uintptr_t kMayShare = 1;
  static constexpr uintptr_t kReference = 2;
  static constexpr uintptr_t kTags = kMayShare | kReference;

  // Makes this a reference of `bytes` bytes from `offset` of `segment` on.
  void PointInto(const Mbuf& segment, uint32_t offset,
                 uint32_t bytes) noexcept {
    assert(bytes != 0 && offset < segment.data_bytes_ &&
           bytes <= segment.data_bytes_ - offset);
    data_ = segment.data_ + offset;
    next_ = kReference | kMayShare;
    timestamp_ns_ = 0;
    data_bytes_ = bytes;
    frame_bytes_ = bytes;
    hash_ = 0;
    segments_ = 1;
    info_ = {};
    chunk_ = segment.chunk_;
  }

  std::byte* data_;
  uintptr_t next_;
  uint64_t timestamp_ns_;
  uint32_t data_bytes_;
  uint32_t frame_bytes_;
  uint32_t hash_;
  uint16_t segments_;
  PacketInfo info_;
  // The chunk that data_ is in: of a reference that of the mbuf it refers to.
  std::byte* chunk_;
  // Mbufs, less one, that use the chunk of this one. Reset leaves it alone: it
  // is 0 whenever an mbuf is free.
  uint32_t users_;
  // Set-up only below.
  uint32_t chunk_bytes_;
};

static_assert(sizeof(Mbuf) == kCacheLine);

}  // namespace weir

#endif  // WEIR_MBUF_MBUF_H_
