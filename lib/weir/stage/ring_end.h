// The ends of a ring as pipelines see them: an outlet that puts packets in and
// an inlet that takes them out, whatever kind of ring is between them.

#ifndef WEIR_STAGE_RING_END_H_
#define WEIR_STAGE_RING_END_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "weir/base/counter.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/sleep.h"
#include "weir/pipeline/stage_stats.h"
#include "weir/ring/ring_bell.h"

namespace weir {

// What becomes of packets that find a ring full.
enum class WhenFull : uint8_t {
  // They stay in their pipeline, which receives nothing meanwhile: nothing is
  // lost here.
  kBlock,
  // They are dropped.
  kDropNewest,
  // The oldest in the ring are dropped in their place. Shared rings only.
  kDropOldest,
};

struct RingOptions {
  // For tables and JSON.
  std::string name = "ring";
  // Packets it holds, a power of two from 2 to 2^30.
  uint32_t capacity = 1024;
  WhenFull when_full = WhenFull::kBlock;
};

namespace internal {

// The bell of one inlet, and that of the next of a shared ring.
struct RingBells {
  RingBell bell;
  std::unique_ptr<RingBells> next;
};

// What the ends of a ring have in common beside it.
struct RingState {
  explicit RingState(const RingOptions& options)
      : name(options.name), when_full(options.when_full) {}

  // A bell for one more inlet. Before an outlet is used.
  RingBell& AddInlet() {
    if (!std::exchange(has_inlet, true)) return bells.bell;
    auto added = std::make_unique<RingBells>();
    added->next = std::move(bells.next);
    bells.next = std::move(added);
    return bells.next->bell;
  }
  // Something was put in, or an outlet has closed: every inlet that sleeps is
  // woken, for any of them may take it. Any thread.
  void RingAll() noexcept {
    for (RingBells* each = &bells; each != nullptr; each = each->next.get()) {
      each->bell.Ring();
    }
  }

  std::string name;
  WhenFull when_full;
  // Outlets that may still put something in.
  std::atomic<uint32_t> open{0};
  bool has_inlet = false;
  RingBells bells;
};

// Replaces packets of `burst` that share payload by copies, for users of a
// chunk stay on one lcore, and writes the handles of the packets from the front
// on; returns how many, fewer than all if there is no mbuf for a copy.
uint32_t TakeHandles(Burst& burst, Lcore& lcore,
                     std::span<uint32_t, kMaxBurst> handles) noexcept;

// Frees the packets with these handles, which are the caller's.
void FreeHandles(std::span<const uint32_t> handles, Lcore& lcore) noexcept;

}  // namespace internal

// The outlet. Owner lcore only.
template <typename End>
class RingOutlet {
 public:
  static constexpr absl::string_view kName = "to-ring";
  // Packets may not share what stays here.
  static constexpr bool kToOtherLcore = true;

  RingOutlet(End end, std::shared_ptr<internal::RingState> state) noexcept
      : end_(std::move(end)), state_(std::move(state)) {
    ++state_->open;
  }

  // What a packet shares with others is copied; without an mbuf for the copy
  // the packet waits.
  void Send(Burst& burst, Lcore& lcore) noexcept {
    std::array<uint32_t, kMaxBurst> handles;
    const uint32_t count = internal::TakeHandles(burst, lcore, handles);
    auto sent = static_cast<uint32_t>(end_.Enqueue({handles.data(), count}));
    if (sent != count) [[unlikely]] {
      sent += SendToFull({&handles[sent], count - sent}, lcore);
    }
    burst.ReleaseFront(sent);
    state_->RingAll();
  }
  void Reap(Lcore&) noexcept {}
  bool Flush(Lcore&) noexcept { return true; }

  // Once every outlet is closed, inlets are finished when they have taken what
  // is in the ring.
  void Close() noexcept {
    if (!std::exchange(is_open_, false)) return;
    --state_->open;
    state_->RingAll();
  }
  // Nothing to wait for: room is looked for by the pipeline.
  void Arm(Sleep&) noexcept {}
  void Disarm() noexcept {}

  // The name of the ring. Any thread.
  absl::string_view place() const noexcept { return state_->name; }
  // Reasons to drop, as far as its policy has any. Any thread.
  void AddTo(StageSnapshot& stage) const {
    switch (state_->when_full) {
      case WhenFull::kBlock:
        break;
      case WhenFull::kDropNewest:
        stage.drops.push_back({"ring full, newest", dropped_.value()});
        break;
      case WhenFull::kDropOldest:
        stage.drops.push_back({"ring full, oldest", dropped_.value()});
        break;
    }
  }

 private:
  // `left` found no room. Returns how many of it are the caller's no more.
  [[gnu::noinline]] uint32_t SendToFull(std::span<const uint32_t> left,
                                        Lcore& lcore) noexcept {
    if (state_->when_full == WhenFull::kBlock) return 0;
    if constexpr (requires { end_.Dequeue(std::span<uint32_t>()); }) {
      if (state_->when_full == WhenFull::kDropOldest) {
        return SendInPlaceOfOldest(left, lcore);
      }
    }
    internal::FreeHandles(left, lcore);
    dropped_.Add(left.size());
    return static_cast<uint32_t>(left.size());
  }

  // Others may fill what was made free: then the rest is offered again later.
  uint32_t SendInPlaceOfOldest(std::span<const uint32_t> left,
                               Lcore& lcore) noexcept {
    std::array<uint32_t, kMaxBurst> oldest;
    const size_t count = end_.Dequeue({oldest.data(), left.size()});
    internal::FreeHandles({oldest.data(), count}, lcore);
    dropped_.Add(count);
    return static_cast<uint32_t>(end_.Enqueue(left));
  }

  End end_;
  std::shared_ptr<internal::RingState> state_;
  bool is_open_ = true;
  Counter dropped_;
};

// The inlet. All lcores use caches of one pool. Owner lcore only.
template <typename End>
class RingInlet {
 public:
  static constexpr absl::string_view kName = "from-ring";
  // Tells the pipeline to drain it: what is in it was received before.
  static constexpr bool kBetweenLcores = true;

  RingInlet(End end, std::shared_ptr<internal::RingState> state)
      : end_(std::move(end)),
        state_(std::move(state)),
        bell_(&state_->AddInlet()) {}

  void Receive(Burst& burst, Lcore& lcore) noexcept {
    std::array<uint32_t, kDefaultBurst> handles;
    const size_t count = end_.Dequeue(handles);
    MbufPool& pool = lcore.cache().pool();
    for (size_t i = 0; i < count; ++i) burst.Adopt(pool.mbuf(handles[i]));
    // A full burst may be a part of what is there.
    if (count == kDefaultBurst) {
      const uint64_t held =
          std::min<uint64_t>(end_.known_size() + count, end_.capacity());
      if (held > high_water_.value()) high_water_.Set(held);
    } else if (count > high_water_.value()) {
      high_water_.Set(count);
    }
  }

  // An outlet that puts something in, or closes, wakes the lcore.
  void Arm(Sleep& sleep) noexcept {
    if (bell_->Arm(sleep.wake_fd())) sleep.MustFence();
  }
  void Disarm() noexcept { bell_->Disarm(); }

  // True when every outlet was closed and all was taken.
  bool finished() const noexcept {
    // In this order: what was put in before the close is seen.
    return state_->open == 0 && end_.size() == 0;
  }

  // The name of the ring. Any thread.
  absl::string_view place() const noexcept { return state_->name; }
  // Any thread.
  RingSnapshot ring() const {
    return {.name = state_->name,
            .capacity = end_.capacity(),
            .size = end_.size(),
            .high_water = high_water_.value(),
            .id = reinterpret_cast<uintptr_t>(state_.get())};
  }

 private:
  End end_;
  std::shared_ptr<internal::RingState> state_;
  RingBell* bell_;
  Counter high_water_;
};

}  // namespace weir

#endif  // WEIR_STAGE_RING_END_H_
