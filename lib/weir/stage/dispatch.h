// The end of a pipeline that spreads packets over several outlets, mostly rings
// to other lcores. Who gets which packet is a chooser's: by hash
// (choose_by_hash.h), by flow (choose_by_flow.h), by consistent hash
// (choose_by_maglev.h) or in turn (choose_in_turn.h).

#ifndef WEIR_STAGE_DISPATCH_H_
#define WEIR_STAGE_DISPATCH_H_

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "weir/base/check.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/queue.h"
#include "weir/pipeline/sleep.h"
#include "weir/pipeline/stage_stats.h"
#include "weir/stage/outlets.h"

namespace weir {

// Choose returns the number of an outlet, below that of all; Begin is called
// before a burst. A packet whose outlet was full is asked for again. Owner
// lcore only.
template <typename T>
concept Chooser = std::movable<T> &&
    requires(T chooser, const Mbuf& packet, Lcore& lcore) {
  { chooser.Begin(lcore) }
  noexcept->std::same_as<void>;
  { chooser.Choose(packet) }
  noexcept->std::same_as<uint32_t>;
};

// An outlet. Packets for one outlet keep their order, and what one has no room
// for does not hold up the others' in the same burst; but as any outlet it
// leaves that to the pipeline, which then receives nothing until it is gone.
// Owner lcore only.
template <Chooser By, Outlet Out>
class Dispatch {
 public:
  static constexpr absl::string_view kName = "dispatch";

  // At least one outlet, as many as the chooser knows.
  Dispatch(By chooser, std::vector<Out> outlets)
      : chooser_(std::move(chooser)),
        outlets_(std::move(outlets)),
        lists_(outlets_.size()) {
    Check(!outlets_.empty(), "a dispatch has an outlet");
    touched_.reserve(kMaxBurst);
  }

  void Send(Burst& burst, Lcore& lcore) noexcept {
    const uint32_t count = burst.size();
    chooser_.Begin(lcore);
    std::array<uint8_t, kMaxBurst> behind;
    for (uint32_t i = 0; i < count; ++i) {
      Append(chooser_.Choose(burst[i]), static_cast<uint8_t>(i), behind);
    }
    // Where a packet stayed, by its place in the burst.
    std::array<Mbuf*, kMaxBurst> left{};
    uint32_t left_count = 0;
    for (const uint32_t number : touched_) {
      List& list = lists_[number];
      Burst part(lcore.cache());
      uint32_t at = list.first;
      for (uint32_t i = 0; i < list.count; ++i, at = behind[at]) {
        part.Adopt(burst[at]);
      }
      outlets_[number].Send(part, lcore);
      if (!part.empty()) [[unlikely]] {
        KeepLast(part, list, behind, left);
        left_count += part.size();
        part.ReleaseAll();
      }
      list.count = 0;
    }
    touched_.clear();
    burst.ReleaseAll();
    if (left_count == 0) return;
    for (Mbuf* packet : left) {
      if (packet != nullptr) burst.Adopt(*packet);
    }
  }
  void Reap(Lcore& lcore) noexcept {
    for (Out& outlet : outlets_) outlet.Reap(lcore);
  }
  bool Flush(Lcore& lcore) noexcept {
    bool is_empty = true;
    for (Out& outlet : outlets_) is_empty = outlet.Flush(lcore) && is_empty;
    return is_empty;
  }
  // Of outlets that can wait.
  void Arm(Sleep& sleep) noexcept requires Sleeper<Out> {
    for (Out& outlet : outlets_) outlet.Arm(sleep);
  }
  void Disarm() noexcept requires Sleeper<Out> {
    for (Out& outlet : outlets_) outlet.Disarm();
  }
  void Abandon(Lcore& lcore) noexcept { internal::AbandonAll(outlets_, lcore); }
  void Close() noexcept { internal::CloseAll(outlets_); }

  // The places of all outlets. Any thread.
  std::string place() const { return internal::PlacesOf(outlets_); }
  // The sums over all outlets. Any thread.
  void AddTo(StageSnapshot& stage) const {
    internal::AddOutlets(outlets_, stage);
  }

 private:
  // The packets of a burst for one outlet, by their places, in order.
  struct List {
    uint32_t count = 0;
    uint8_t first = 0;
    uint8_t last = 0;
  };

  void Append(uint32_t number, uint8_t place,
              std::array<uint8_t, kMaxBurst>& behind) noexcept {
    List& list = lists_[number];
    if (list.count++ == 0) {
      list.first = place;
      touched_.push_back(number);
    } else {
      behind[list.last] = place;
    }
    list.last = place;
  }

  // `part` is the end of `list`, perhaps in mbufs of its own.
  static void KeepLast(const Burst& part, const List& list,
                       const std::array<uint8_t, kMaxBurst>& behind,
                       std::array<Mbuf*, kMaxBurst>& left) noexcept {
    uint32_t at = list.first;
    for (uint32_t i = part.size(); i < list.count; ++i) at = behind[at];
    for (uint32_t i = 0; i < part.size(); ++i, at = behind[at]) {
      left[at] = &part[i];
    }
  }

  By chooser_;
  std::vector<Out> outlets_;
  std::vector<List> lists_;
  // Outlets that this burst has packets for; never grows.
  std::vector<uint32_t> touched_;
};

}  // namespace weir

#endif  // WEIR_STAGE_DISPATCH_H_
