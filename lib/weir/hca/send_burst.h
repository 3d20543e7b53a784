// Work requests on their way to the medium: frames for one call of the backend.

#ifndef WEIR_HCA_SEND_BURST_H_
#define WEIR_HCA_SEND_BURST_H_

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "weir/hca/backend/backend.h"
#include "weir/hca/limits.h"
#include "weir/hca/packet_checksums.h"
#include "weir/hca/tso.h"

namespace weir::hca {

// Reused by its send queue, so that nothing is cleared per call.
class SendBurst {
 public:
  // The position in the burst of a frame that wants a completion.
  struct Signal {
    uint32_t position;
    uint64_t wr_id;
  };

  void Clear() noexcept {
    frame_count_ = 0;
    segment_count_ = 0;
    signal_count_ = 0;
  }

  // Room for one more frame of any size and kind.
  bool HasRoom() const noexcept {
    return frame_count_ < kBurstFrames &&
           segment_count_ + kMaxSge + 1 <= segments_.size();
  }

  // A frame is begun, gets its segments and is ended; what was begun and not
  // ended does not count.
  void Begin() noexcept { first_segment_ = segment_count_; }
  void AddSegment(std::byte* data, uint32_t bytes) noexcept {
    segments_[segment_count_++] = {data, bytes};
  }
  void End(uint32_t length_bytes) noexcept {
    frames_[frame_count_++] = {
        .segments = std::span<const iovec>(segments_.data() + first_segment_,
                                           segment_count_ - first_segment_),
        .length_bytes = length_bytes};
  }
  // Does the same for a frame that BeginChecksummed began and has all of its
  // checksums filled in. Its segments are not written to: what changes is
  // copied.
  void BeginChecksummed() noexcept {
    // For the copy.
    first_segment_ = ++segment_count_;
  }
  void EndChecksummed(uint32_t length_bytes) noexcept;
  // Adds the next segment of a TSO request.
  void AddTso(TsoCutter& cutter) noexcept;

  // Wants a completion for the frame that was ended last.
  void AddSignal(uint64_t wr_id) noexcept {
    AddSignal(frame_count_ - 1, wr_id);
  }
  // Wants a completion for the frame at `position`.
  void AddSignal(size_t position, uint64_t wr_id) noexcept {
    signals_[signal_count_++] = {.position = static_cast<uint32_t>(position),
                                 .wr_id = wr_id};
  }

  // Adds frames of one segment each, with the positions in registers: it is
  // used in a loop over a list and given to Accept afterwards.
  class Appender {
   public:
    explicit Appender(SendBurst& burst) noexcept
        : frame_(burst.frames_.data() + burst.frame_count_),
          segment_(burst.segments_.data() + burst.segment_count_),
          position_(burst.frame_count_) {}

    // There must be room.
    void Add(std::byte* data, uint32_t bytes) noexcept {
      *segment_ = {data, bytes};
      *frame_++ = {.segments = std::span<const iovec>(segment_++, 1),
                   .length_bytes = bytes};
      ++position_;
    }
    size_t position() const noexcept { return position_; }

   private:
    TxFrame* frame_;
    iovec* segment_;
    size_t position_;
  };
  void Accept(const Appender& added) noexcept {
    segment_count_ += added.position() - frame_count_;
    frame_count_ = added.position();
  }

  std::span<const TxFrame> frames() const noexcept {
    return {frames_.data(), frame_count_};
  }
  std::span<const Signal> signals() const noexcept {
    return {signals_.data(), signal_count_};
  }

 private:
  static constexpr size_t kHeaderBytes = kMaxChecksummedHeaderBytes;
  static_assert(kMaxTsoHeaderBytes <= kHeaderBytes);

  // For a header of the next frame.
  std::span<std::byte, kHeaderBytes> HeaderRoom() noexcept {
    return std::span<std::byte, kHeaderBytes>(
        headers_.get() + frame_count_ * kHeaderBytes, kHeaderBytes);
  }

  size_t frame_count_ = 0;
  size_t segment_count_ = 0;
  size_t first_segment_ = 0;
  size_t signal_count_ = 0;
  std::array<TxFrame, kBurstFrames> frames_;
  std::array<iovec, kBurstFrames + size_t{3} * kMaxSge> segments_;
  std::array<Signal, kBurstFrames> signals_;
  // Not touched before it is used.
  std::unique_ptr<std::byte[]> headers_ =
      std::make_unique_for_overwrite<std::byte[]>(kBurstFrames * kHeaderBytes);
};

}  // namespace weir::hca

#endif  // WEIR_HCA_SEND_BURST_H_
