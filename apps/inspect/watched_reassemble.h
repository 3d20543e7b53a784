// Reassembly that tells a Recorder what became of each fragment.

#ifndef APPS_INSPECT_WATCHED_REASSEMBLE_H_
#define APPS_INSPECT_WATCHED_REASSEMBLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/string_view.h"
#include "apps/inspect/recorder.h"
#include "apps/inspect/result_json.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/sleep.h"
#include "weir/pipeline/stage.h"
#include "weir/stage/reassemble.h"

namespace weir::inspect {

// A burst stage. Owner lcore only.
class WatchedReassemble {
 public:
  static constexpr absl::string_view kName = Reassemble::kName;
  static constexpr auto kDropNames = Reassemble::kDropNames;

  // `counts` gets what the stage counted when it closes. `recorder` may be
  // null. Both must outlive this.
  WatchedReassemble(Recorder* recorder, ReassemblyCounts* counts,
                    Reassemble stage)
      : recorder_(recorder), counts_(counts), stage_(std::move(stage)) {}

  const auto& counts() const noexcept { return stage_.counts(); }
  void Tick(Lcore& lcore) noexcept { stage_.Tick(lcore); }
  void Arm(Sleep& sleep) const noexcept { stage_.Arm(sleep); }

  void OnBurst(Burst& burst, Lcore& lcore) noexcept {
    if (recorder_ == nullptr) {
      stage_.OnBurst(burst, lcore);
      return;
    }
    // One by one, so that what the stage does is what it does to this frame.
    Burst in = std::move(burst);
    Burst one(lcore.cache());
    for (Mbuf* packet : in.mbufs()) {
      one.Adopt(*packet);
      if (packet->info().is_fragment()) {
        AddFragment(*packet, one, lcore);
      } else {
        stage_.OnBurst(one, lcore);
      }
      for (Mbuf* out : one.mbufs()) burst.Adopt(*out);
      one.ReleaseAll();
    }
    in.ReleaseAll();
  }

  void Close(Lcore& lcore) noexcept {
    stage_.Close(lcore);
    const DatagramCounts& seen = stage_.datagrams();
    const auto given_up = [&seen](ReassemblyDrop reason) {
      return seen.given_up[static_cast<size_t>(reason)].value();
    };
    counts_->completed = seen.completed.value();
    // Also those whose time was cut short because others needed the room.
    counts_->timed_out = 0;
    for (const ReassemblyDrop reason :
         {ReassemblyDrop::kTimeout, ReassemblyDrop::kNoDatagrams,
          ReassemblyDrop::kNoFragments, ReassemblyDrop::kNoBytes,
          ReassemblyDrop::kSourceShare}) {
      counts_->timed_out += given_up(reason);
    }
    counts_->overlap_abandoned = given_up(ReassemblyDrop::kOverlap);
    counts_->pending_at_end = given_up(ReassemblyDrop::kClosed);
  }

 private:
  // `one` holds `fragment` alone, and then what the stage makes of it.
  void AddFragment(Mbuf& fragment, Burst& one, Lcore& lcore) noexcept {
    const uint32_t number = recorder_->NumberOf(fragment);
    const PacketInfo info = fragment.info();
    const Drops before = ReadDrops();
    recorder_->Kept(number, info);
    stage_.OnBurst(one, lcore);
    if (!one.empty()) {
      recorder_->Completed(number, one[0]);
      return;
    }
    const Drops after = ReadDrops();
    for (size_t i = 0; i < after.size(); ++i) {
      if (after[i] == before[i]) continue;
      if (IsOfFragment(static_cast<ReassemblyDrop>(i))) {
        recorder_->DroppedFragment(number, info, kDropNames[i]);
      } else if (IsOfWhole(static_cast<ReassemblyDrop>(i))) {
        recorder_->DroppedDatagram(number, kDropNames[i]);
      }
    }
  }

  // Whether it is the fragment that came which is dropped for `reason`.
  static constexpr bool IsOfFragment(ReassemblyDrop reason) noexcept {
    return reason <= ReassemblyDrop::kTooManyFragments ||
           reason == ReassemblyDrop::kNoMbuf;
  }
  // Whether it is a datagram that was complete. For other reasons those
  // fragments are dropped that came before.
  static constexpr bool IsOfWhole(ReassemblyDrop reason) noexcept {
    return reason == ReassemblyDrop::kTooLarge ||
           reason == ReassemblyDrop::kEcn ||
           reason >= ReassemblyDrop::kMalformed;
  }

  using Drops = std::array<uint64_t, kReassemblyDrops>;
  Drops ReadDrops() const noexcept {
    Drops drops;
    for (size_t i = 0; i < drops.size(); ++i) {
      drops[i] = stage_.counts().drops[i].value();
    }
    return drops;
  }

  Recorder* recorder_;
  ReassemblyCounts* counts_;
  Reassemble stage_;
};

static_assert(CountingStage<WatchedReassemble>);
static_assert(ClosingStage<WatchedReassemble>);

}  // namespace weir::inspect

#endif  // APPS_INSPECT_WATCHED_REASSEMBLE_H_
