// A packet on its way to be fragments: which of its bytes are in none yet. The
// part of stage/fragment that works with mbufs.

#ifndef WEIR_STAGE_FRAGMENT_CUT_H_
#define WEIR_STAGE_FRAGMENT_CUT_H_

#include <cstdint>

#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/fragment_headers.h"
#include "weir/net/fragment_ids.h"

namespace weir {

// Payload is not copied: a fragment is an mbuf with its headers and, behind it,
// references into the packet. The last reference to each segment is that
// segment itself, so n fragments take n mbufs for headers and n - 1 references
// at most, whatever the segments of the packet are. Owner lcore only.
class FragmentCut {
 public:
  // How far Emit came.
  enum class Progress : uint8_t {
    kDone,
    // The burst is full, or there are no mbufs: some fragments are missing.
    kBurstFull,
    kNoMbufs,
    // The next fragment has too many segments and too many bytes to copy.
    kTooManySegments,
  };

  // Fragments will have up to `mtu_bytes` bytes from the IP header on and up to
  // `max_segments` segments, 2 at least.
  FragmentCut(uint32_t mtu_bytes, uint32_t max_segments) noexcept
      : mtu_bytes_(mtu_bytes), max_segments_(max_segments) {}

  // Takes ownership of `packet`, which was parsed, if the outcome is kStarted.
  // A packet before it must be done or abandoned.
  net::FragmentHeaders::Outcome Start(Mbuf& packet, net::FragmentIds& ids,
                                      MbufCache& cache) noexcept;

  bool is_active() const noexcept { return segment_ != nullptr; }

  // Appends fragments to `burst` as long as there is room.
  Progress Emit(Burst& burst) noexcept;

  // Frees what is left.
  void Abandon(MbufCache& cache) noexcept;

 private:
  class Fresh;

  bool EmitOne(Burst& burst, Fresh& fresh) noexcept;
  void EmitRun(Burst& burst, Fresh& fresh, uint32_t count) noexcept;
  bool IsEndOfSegment() const noexcept;
  void EmitEnd(Burst& burst, Fresh& fresh) noexcept;
  void DescribeNext(Mbuf& header) noexcept;
  void Describe(Mbuf& header, int place) noexcept;
  uint32_t CountPieces(uint32_t bytes) const noexcept;
  void LinkData(Mbuf& header, uint32_t bytes, Fresh& fresh) noexcept;
  void CopyData(Mbuf& header, uint32_t bytes, MbufCache& cache) noexcept;
  void FreeEmptySegments(MbufCache& cache) noexcept;
  void FreeFront(MbufCache& cache) noexcept;

  net::FragmentHeaders headers_;
  // Where what is left begins.
  Mbuf* segment_ = nullptr;
  uint32_t offset_ = 0;
  uint32_t mtu_bytes_;
  uint32_t max_segments_;
  // Of the packet, for all fragments.
  uint32_t hash_ = 0;
  uint64_t timestamp_ns_ = 0;
  PacketInfo info_;
};

}  // namespace weir

#endif  // WEIR_STAGE_FRAGMENT_CUT_H_
