// One segment of a packet: 64 bytes of metadata, kept in an array of their own,
// apart from the payload. Metadata is then dense in cache and payload chunks
// keep the alignment that devices want.

#ifndef WEIR_MBUF_MBUF_H_
#define WEIR_MBUF_MBUF_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
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
  Mbuf* next() noexcept { return next_; }
  const Mbuf* next() const noexcept { return next_; }

  // Bytes of the chunk in front of and behind the data of this segment.
  uint32_t headroom_bytes() const noexcept {
    return static_cast<uint32_t>(data_ - chunk_);
  }
  uint32_t tailroom_bytes() const noexcept {
    return chunk_bytes_ - headroom_bytes() - data_bytes_;
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

  // Position in its pool.
  uint32_t index() const noexcept { return index_; }

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
    next_ = nullptr;
    timestamp_ns_ = 0;
    data_bytes_ = 0;
    frame_bytes_ = 0;
    hash_ = 0;
    segments_ = 1;
    info_ = {};
  }

  // Sets the length of the only segment and of the frame, from the data on.
  void SetLength(uint32_t bytes) noexcept {
    assert(bytes <= chunk_bytes_ - headroom_bytes());
    data_bytes_ = bytes;
    frame_bytes_ = bytes;
  }

  // Appends `tail`, a frame of its own until now, to this first segment, whose
  // last segment is `last` (this one, if the frame has one segment). A frame
  // has up to 65535 segments.
  void Append(Mbuf& last, Mbuf& tail) noexcept {
    last.next_ = &tail;
    frame_bytes_ += tail.frame_bytes_;
    segments_ = static_cast<uint16_t>(segments_ + tail.segments_);
  }

 private:
  friend class MbufPool;

  std::byte* data_;
  Mbuf* next_;
  uint64_t timestamp_ns_;
  uint32_t data_bytes_;
  uint32_t frame_bytes_;
  uint32_t hash_;
  uint16_t segments_;
  PacketInfo info_;
  // Set-up only below.
  std::byte* chunk_;
  uint32_t index_;
  uint32_t chunk_bytes_;
};

static_assert(sizeof(Mbuf) == kCacheLine);

}  // namespace weir

#endif  // WEIR_MBUF_MBUF_H_
