#include "weir/stage/fragment_cut.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace weir {
namespace {

using Outcome = net::FragmentHeaders::Outcome;

// Fragments for which mbufs are taken at once.
constexpr uint32_t kBatch = 32;

}  // namespace

// The mbufs of a batch; what is left of them goes back.
class FragmentCut::Fresh {
 public:
  Fresh(MbufCache& cache, uint32_t fragments) noexcept : cache_(cache) {
    count_ = cache.Alloc({mbufs_.data(), 2 * fragments});
  }
  Fresh(const Fresh&) = delete;
  Fresh& operator=(const Fresh&) = delete;
  ~Fresh() { cache_.FreeSegments({mbufs_.data() + taken_, count_ - taken_}); }

  // Fragments that there are mbufs for.
  uint32_t fragments() const noexcept {
    return static_cast<uint32_t>(count_ - taken_) / 2;
  }
  Mbuf& Take() noexcept { return *mbufs_[taken_++]; }
  std::span<Mbuf* const> Take(uint32_t count) noexcept {
    taken_ += count;
    return {&mbufs_[taken_ - count], count};
  }
  MbufCache& cache() const noexcept { return cache_; }

 private:
  MbufCache& cache_;
  size_t count_ = 0;
  size_t taken_ = 0;
  std::array<Mbuf*, 2 * kBatch> mbufs_;
};

Outcome FragmentCut::Start(Mbuf& packet, net::FragmentIds& ids,
                           MbufCache& cache) noexcept {
  info_ = packet.info();
  const uint32_t packet_bytes =
      packet.frame_bytes() - info_.l3_offset - info_.trailer_bytes;
  const Outcome outcome =
      info_.l3 == L3::kIpv6
          ? headers_.StartIpv6(packet.bytes(), info_.l3_offset, packet_bytes,
                               mtu_bytes_, ids)
          : headers_.StartIpv4(packet.bytes(), info_.l3_offset, packet_bytes,
                               mtu_bytes_);
  if (outcome != Outcome::kStarted) return outcome;
  if (headers_.room_bytes() >
      cache.pool().chunk_bytes() - cache.pool().headroom_bytes()) {
    return Outcome::kHeadersTooLong;
  }
  timestamp_ns_ = packet.timestamp_ns();
  hash_ = packet.hash();
  info_.trailer_bytes = 0;
  info_.protocol = headers_.protocol();
  info_.flags = static_cast<uint8_t>((info_.flags & PacketInfo::kTunnel) |
                                     PacketInfo::kFragment);
  info_.set_ip_checksum(info_.l3 == L3::kIpv4 ? ChecksumState::kGood
                                              : ChecksumState::kUnknown);
  info_.set_l4_checksum(ChecksumState::kUnknown);
  segment_ = &packet;
  offset_ = headers_.data_offset();
  FreeEmptySegments(cache);
  return outcome;
}

FragmentCut::Progress FragmentCut::Emit(Burst& burst) noexcept {
  while (headers_.data_left() != 0) {
    const uint32_t wanted = headers_.CountUpTo(std::min(burst.room(), kBatch));
    if (burst.room() == 0) return Progress::kBurstFull;
    Fresh fresh(burst.cache(), wanted);
    const uint32_t given = fresh.fragments();
    for (uint32_t i = 0; i < given && headers_.data_left() != 0;) {
      const uint32_t run =
          headers_.CountRun(given - i, segment_->data_bytes() - offset_);
      if (run != 0) {
        EmitRun(burst, fresh, run);
        i += run;
        continue;
      }
      if (IsEndOfSegment()) {
        EmitEnd(burst, fresh);
      } else if (!EmitOne(burst, fresh)) {
        return Progress::kTooManySegments;
      }
      ++i;
    }
    if (given == 0) return Progress::kNoMbufs;
  }
  // What is behind the packet: padding.
  Abandon(burst.cache());
  return Progress::kDone;
}

void FragmentCut::Abandon(MbufCache& cache) noexcept {
  while (segment_ != nullptr) FreeFront(cache);
}

// False, and nothing done, if the segments of the next fragment are too many.
bool FragmentCut::EmitOne(Burst& burst, Fresh& fresh) noexcept {
  const uint32_t header_bytes = headers_.header_bytes();
  const uint32_t data_bytes = headers_.data_bytes();
  const bool is_copy = CountPieces(data_bytes) > max_segments_ - 1;
  Mbuf& header = fresh.Take();
  header.Reset(burst.cache().pool().headroom_bytes());
  if (is_copy && header.tailroom_bytes() < header_bytes + data_bytes)
      [[unlikely]] {
    const std::array<Mbuf*, 1> unused{&header};
    burst.cache().FreeSegments(unused);
    return false;
  }
  header.SetLength(header_bytes);
  DescribeNext(header);
  headers_.WriteNext(header.data());
  if (is_copy) [[unlikely]] {
    CopyData(header, data_bytes, burst.cache());
  } else {
    LinkData(header, data_bytes, fresh);
  }
  burst.Adopt(header);
  return true;
}

// Whether the next fragment is the last of the packet and has what is left of
// a segment.
bool FragmentCut::IsEndOfSegment() const noexcept {
  const uint32_t left = headers_.data_left();
  return headers_.data_bytes() == left &&
         segment_->data_bytes() - offset_ >= left;
}

// That one. Padding may follow its data.
void FragmentCut::EmitEnd(Burst& burst, Fresh& fresh) noexcept {
  const uint32_t data_bytes = headers_.data_left();
  Mbuf& header = fresh.Take();
  Mbuf& piece = *segment_;
  header.Reset(fresh.cache().pool().headroom_bytes());
  header.SetLength(headers_.header_bytes());
  DescribeNext(header);
  headers_.WriteNext(header.data());
  segment_ = piece.next();
  piece.Detach(offset_, data_bytes);
  offset_ = 0;
  header.Append(header, piece);
  burst.Adopt(header);
}

// The next `count` fragments: they are alike and take one piece of the segment
// each.
void FragmentCut::EmitRun(Burst& burst, Fresh& fresh, uint32_t count) noexcept {
  const std::span<Mbuf* const> headers = fresh.Take(count);
  const std::span<Mbuf* const> pieces = fresh.Take(count);
  const uint32_t data_bytes = headers_.data_bytes();
  const uint32_t headroom_bytes = fresh.cache().pool().headroom_bytes();
  fresh.cache().ReferAll(pieces, *segment_, *segment_, offset_, data_bytes);
  offset_ += count * data_bytes;
  Mbuf& first = *headers[0];
  first.Reset(headroom_bytes);
  first.SetLength(headers_.header_bytes());
  Describe(first, 0);
  first.Append(first, *pieces[0]);
  const bool is_first = headers_.is_first();
  headers_.WriteRun(count, [&](uint32_t i) noexcept {
    if (i != 0) headers[i]->LeadLike(first, headroom_bytes, *pieces[i]);
    burst.Adopt(*headers[i]);
    return headers[i]->data();
  });
  if (is_first) first.info().flags |= PacketInfo::kFirstFragment;
}

// Says of the next fragment what Parse would.
void FragmentCut::DescribeNext(Mbuf& header) noexcept {
  Describe(header, (headers_.is_first() ? PacketInfo::kFirstFragment : 0) |
                       (headers_.is_last() ? PacketInfo::kLastFragment : 0));
}

// The same; `place` are the flags that tell which part it is.
void FragmentCut::Describe(Mbuf& header, int place) noexcept {
  PacketInfo& info = header.info();
  info = info_;
  info.l4_offset = static_cast<uint16_t>(headers_.header_bytes());
  info.flags = static_cast<uint8_t>(info_.flags | place);
  header.set_timestamp_ns(timestamp_ns_);
  header.set_hash(hash_);
}

// In how many segments the next `bytes` bytes are.
uint32_t FragmentCut::CountPieces(uint32_t bytes) const noexcept {
  uint32_t count = 1;
  uint32_t reached = segment_->data_bytes() - offset_;
  for (const Mbuf* at = segment_; reached < bytes; ++count) {
    at = at->next();
    reached += at->data_bytes();
  }
  return count;
}

// Puts the next `bytes` bytes behind `header`.
void FragmentCut::LinkData(Mbuf& header, uint32_t bytes,
                           Fresh& fresh) noexcept {
  const bool is_end = headers_.data_left() == 0;
  Mbuf* last = &header;
  uint32_t left = bytes;
  while (left != 0) {
    const uint32_t there = segment_->data_bytes() - offset_;
    const uint32_t part = std::min(there, left);
    Mbuf* piece;
    if (part == there || (is_end && part == left)) {
      piece = segment_;
      segment_ = piece->next();
      piece->Detach(offset_, part);
      offset_ = 0;
      if (part == 0) {
        const std::array<Mbuf*, 1> empty{piece};
        fresh.cache().FreePackets(empty);
        continue;
      }
    } else {
      piece = &fresh.Take();
      fresh.cache().Refer(*piece, *segment_, *segment_, offset_, part);
      offset_ += part;
    }
    header.Append(*last, *piece);
    last = piece;
    left -= part;
  }
}

// Copies the next `bytes` bytes to behind `header`, which has room for them.
void FragmentCut::CopyData(Mbuf& header, uint32_t bytes,
                           MbufCache& cache) noexcept {
  std::byte* out = header.data() + header.data_bytes();
  header.SetLength(header.data_bytes() + bytes);
  for (uint32_t left = bytes; left != 0;) {
    const uint32_t part = std::min(segment_->data_bytes() - offset_, left);
    std::memcpy(out, segment_->data() + offset_, part);
    out += part;
    offset_ += part;
    left -= part;
    FreeEmptySegments(cache);
  }
}

// Goes on to where the next byte is.
void FragmentCut::FreeEmptySegments(MbufCache& cache) noexcept {
  while (segment_ != nullptr && offset_ >= segment_->data_bytes()) {
    offset_ -= segment_->data_bytes();
    FreeFront(cache);
  }
}

void FragmentCut::FreeFront(MbufCache& cache) noexcept {
  Mbuf* const front = segment_;
  segment_ = front->next();
  front->Detach(0, 0);
  const std::array<Mbuf*, 1> one{front};
  cache.FreePackets(one);
}

}  // namespace weir
