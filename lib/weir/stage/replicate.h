// The end of a pipeline that sends every packet by all of its outlets. Queues
// get packets that share their payload; rings, which lead to other lcores, get
// copies, for users of a payload stay on one lcore.

#ifndef WEIR_STAGE_REPLICATE_H_
#define WEIR_STAGE_REPLICATE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "weir/base/check.h"
#include "weir/base/counter.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/copy_packet.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/share_packet.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/queue.h"
#include "weir/pipeline/sleep.h"
#include "weir/pipeline/stage_stats.h"
#include "weir/stage/outlets.h"

namespace weir {

// An outlet. Every outlet gets every packet, in order, or nobody does yet: what
// one has no room for waits here, up to a burst for each, and with it, in the
// pipeline, what comes after. A packet that there is no mbuf for waits too.
// Packets that are sent may not be written to any more. Owner lcore only.
template <Outlet Out>
class Replicate {
 public:
  static constexpr absl::string_view kName = "replicate";

  // At least one outlet.
  explicit Replicate(std::vector<Out> outlets) : outlets_(std::move(outlets)) {
    Check(!outlets_.empty(), "there is an outlet to send by");
    waiting_.reserve(outlets_.size());
  }

  void Send(Burst& burst, Lcore& lcore) noexcept {
    if (waiting_.empty()) MakeRoom(lcore);
    SendWaiting(lcore);
    uint32_t taken = 0;
    while (taken < burst.size() && HasRoom() && Spread(burst[taken], lcore)) {
      ++taken;
    }
    burst.ReleaseFront(taken);
    SendWaiting(lcore);
  }
  void Reap(Lcore& lcore) noexcept {
    for (Out& outlet : outlets_) outlet.Reap(lcore);
    if (held_.value() != 0) SendWaiting(lcore);
  }
  bool Flush(Lcore& lcore) noexcept {
    if (held_.value() != 0) SendWaiting(lcore);
    bool is_empty = held_.value() == 0;
    for (Out& outlet : outlets_) is_empty = outlet.Flush(lcore) && is_empty;
    return is_empty;
  }
  // Of outlets that can wait.
  void Arm(Sleep& sleep) noexcept requires Sleeper<Out> {
    for (Out& outlet : outlets_) outlet.Arm(sleep);
    if (held_.value() != 0) sleep.WakeWithin(Sleep::kBacklogNs);
  }
  void Disarm() noexcept requires Sleeper<Out> {
    for (Out& outlet : outlets_) outlet.Disarm();
  }
  // What waits here is dropped.
  void Abandon(Lcore& lcore) noexcept {
    for (Burst& burst : waiting_) {
      unsent_.Add(burst.size());
      burst.Clear();
    }
    held_.Set(0);
    internal::AbandonAll(outlets_, lcore);
  }
  void Close() noexcept { internal::CloseAll(outlets_); }

  // The places of all outlets. Any thread.
  std::string place() const { return internal::PlacesOf(outlets_); }
  // Any thread.
  void AddTo(StageSnapshot& stage) const {
    stage.made += made_.value();
    stage.held += held_.value();
    internal::AddDrop({"unsent at stop", unsent_.value()}, stage);
    internal::AddOutlets(outlets_, stage);
  }

 private:
  // A burst for each outlet. They need the lcore's cache.
  void MakeRoom(Lcore& lcore) noexcept {
    for (size_t i = 0; i < outlets_.size(); ++i) {
      waiting_.emplace_back(lcore.cache());
    }
  }
  bool HasRoom() const noexcept {
    return std::ranges::all_of(
        waiting_, [](const Burst& burst) { return burst.room() != 0; });
  }

  // Gives `packet` to all outlets' bursts; false, with nothing changed, if
  // there are not enough mbufs.
  bool Spread(Mbuf& packet, Lcore& lcore) noexcept {
    MbufCache& cache = lcore.cache();
    const size_t copies = outlets_.size() - 1;
    for (size_t i = 0; i < copies; ++i) {
      Mbuf* const copy = Copy(packet, cache);
      if (copy == nullptr) {
        while (i-- > 0) DropLast(waiting_[i], cache);
        return false;
      }
      waiting_[i].Adopt(*copy);
    }
    waiting_.back().Adopt(packet);
    made_.Add(copies);
    held_.Set(held_.value() + copies + 1);
    return true;
  }
  static Mbuf* Copy(Mbuf& packet, MbufCache& cache) noexcept {
    if constexpr (requires { Out::kToOtherLcore; }) {
      return CopyPacket(packet, cache);
    } else {
      return SharePacket(packet, cache);
    }
  }
  static void DropLast(Burst& burst, MbufCache& cache) noexcept {
    Mbuf* const last = &burst[burst.size() - 1];
    burst.ReleaseBack(1);
    cache.FreePackets({&last, 1});
  }
  void SendWaiting(Lcore& lcore) noexcept {
    uint64_t left = 0;
    for (size_t i = 0; i < waiting_.size(); ++i) {
      if (!waiting_[i].empty()) outlets_[i].Send(waiting_[i], lcore);
      left += waiting_[i].size();
    }
    held_.Set(left);
  }

  std::vector<Out> outlets_;
  // What each outlet has to get next.
  std::vector<Burst> waiting_;
  Counter made_;
  Counter held_;
  Counter unsent_;
};

}  // namespace weir

#endif  // WEIR_STAGE_REPLICATE_H_
