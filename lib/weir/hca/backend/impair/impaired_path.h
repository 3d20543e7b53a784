// One direction of an impaired link: frames go in at one end, and those that
// come through come out at the other when it is time.

#ifndef WEIR_HCA_BACKEND_IMPAIR_IMPAIRED_PATH_H_
#define WEIR_HCA_BACKEND_IMPAIR_IMPAIRED_PATH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "weir/base/counter.h"
#include "weir/hca/backend/backend.h"
#include "weir/hca/backend/impair/frame_queue.h"
#include "weir/hca/backend/impair/impairment.h"
#include "weir/hca/backend/impair/impairment_model.h"

namespace weir::hca {

// Owner lcore only, but for the counts.
class ImpairedPath {
 public:
  enum class Count : size_t {
    kLost,
    kDuplicated,
    kReordered,
    kCorrupted,
    kDelayed,
    // On the way now.
    kWaiting,
  };
  static constexpr size_t kCounts = 6;

  // On a live medium a frame that waits to be overtaken does so for a time, on
  // another one until frames come or the end does.
  enum class Medium : bool { kLive, kAtRest };

  ImpairedPath(const Impairment& impairment,
               ImpairmentModel::Direction direction, Medium medium);

  // Treats frames that come from now on as `impairment` says.
  void Change(const Impairment& impairment) noexcept;

  // The time to pass to the calls below: that of CLOCK_MONOTONIC, or 0 where
  // time plays no part.
  uint64_t Now() const noexcept;

  // Takes a frame in, which may be lost; false, and nothing has happened, if
  // the path is full.
  bool Take(const RxFrame& frame, uint64_t now_ns) noexcept;

  // Sends on what waited to be overtaken: for too long now, or at all.
  void ReleaseOverdue(uint64_t now_ns) noexcept;
  void ReleaseAll(uint64_t now_ns) noexcept;

  // What comes out, oldest first: Pop takes away what was consumed.
  FrameQueue& out() noexcept { return out_; }
  // Of the frames in out(), how many come out now, `max` at most.
  size_t Due(uint64_t now_ns, size_t max) const noexcept;
  // True if there is no frame on the way.
  bool empty() const noexcept { return out_.empty() && held_frames_ == 0; }
  // When the next frame will come out or be released; nothing if nobody can
  // tell.
  std::optional<uint64_t> NextDue() const noexcept;

  // Brings kWaiting up to date.
  void CountWaiting() noexcept {
    counts_[static_cast<size_t>(Count::kWaiting)].Set(out_.size() +
                                                      held_frames_);
  }
  uint64_t count(Count which) const noexcept {
    return counts_[static_cast<size_t>(which)].value();
  }

 private:
  // A frame that waits to be overtaken.
  struct Held {
    std::unique_ptr<std::byte[]> bytes;
    RxFrame frame;
    uint64_t delay_ns;
    uint64_t since_ns;
    // 0: there is none here.
    uint32_t overtakers = 0;
  };

  bool HasRoom(const RxFrame& frame, uint64_t now_ns) const noexcept;
  void Hold(const RxFrame& frame, const FrameFate& fate,
            uint64_t now_ns) noexcept;
  void Send(const RxFrame& frame, uint64_t delay_ns, uint64_t now_ns) noexcept;
  void Release(Held& held, uint64_t now_ns) noexcept;
  uint64_t LeavesAt(uint32_t length_bytes, uint64_t now_ns) noexcept;
  void Add(Count which) noexcept { counts_[static_cast<size_t>(which)].Add(1); }

  ImpairmentModel model_;
  double ns_per_byte_ = 0;
  bool has_time_ = false;
  uint64_t number_ = 0;
  // When the line has sent all that it was given, and the last frame comes out.
  uint64_t line_free_ns_ = 0;
  uint64_t last_due_ns_ = 0;
  FrameQueue out_;
  // In order of arrival from next_held_ on; never more at once, for each of
  // the next frames counts one overtaker.
  std::array<Held, ImpairmentModel::kMaxOvertakers> held_;
  size_t next_held_ = 0;
  size_t held_frames_ = 0;
  size_t held_bytes_ = 0;
  // A frame with a flipped bit.
  std::unique_ptr<std::byte[]> corrupted_;
  ImpairmentModel::Direction direction_;
  Medium medium_;
  std::array<Counter, kCounts> counts_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_IMPAIR_IMPAIRED_PATH_H_
