// Reassembly with somebody who is told of the datagrams that are given up.

#ifndef WEIR_STAGE_REASSEMBLE_AND_H_
#define WEIR_STAGE_REASSEMBLE_AND_H_

#include <concepts>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf_ptr.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/sleep.h"
#include "weir/pipeline/stage.h"
#include "weir/pipeline/stage_stats.h"
#include "weir/stage/reassemble.h"
#include "weir/stage/reassembly_options.h"

namespace weir {

// Gets the first fragment, that with offset 0, of each datagram that is given
// up before it is complete, if it had come: as it came, but for what was behind
// its IP packet. It was counted as dropped for `reason` and is the handler's
// now. What the handler returns, the fragment itself or another packet, goes on
// in the pipeline and is counted as made; nothing goes on for an empty MbufPtr.
// On the lcore of the stage.
template <typename T>
concept AbandonedHandler = std::move_constructible<T> &&
    requires(T handler, MbufPtr first, ReassemblyDrop reason, Lcore& lcore) {
  { handler.OnAbandoned(std::move(first), reason, lcore) }
  noexcept->std::same_as<MbufPtr>;
};

// The stage Reassemble, and `Handler` for what it gives up. Fragments that the
// handler has not been given yet, because no burst had room for what may come
// of them, are at most Options::max_datagrams + 64, beyond the bound on
// fragments. Owner lcore only.
template <AbandonedHandler Handler>
class ReassembleAnd {
 public:
  static constexpr absl::string_view kName = Reassemble::kName;
  using Drop = Reassemble::Drop;
  static constexpr auto kDropNames = Reassemble::kDropNames;

  // As Reassemble::Create. Control thread, before Launch.
  static absl::StatusOr<ReassembleAnd> Create(ReassemblyOptions options,
                                              Handler handler) {
    options.keeps_abandoned = true;
    auto stage = Reassemble::Create(options);
    if (!stage.ok()) return stage.status();
    return ReassembleAnd(*std::move(stage), std::move(handler));
  }

  void OnBurst(Burst& burst, Lcore& lcore) noexcept {
    stage_.OnBurst(burst, lcore);
    while (more() && burst.room() != 0) {
      MbufPtr made = Tell(lcore);
      if (!made) continue;
      stage_.CountMade();
      burst.Adopt(*made.Release());
    }
  }
  bool more() const noexcept { return stage_.has_abandoned(); }
  void Tick(Lcore& lcore) noexcept { stage_.Tick(lcore); }
  void Arm(Sleep& sleep) const noexcept { stage_.Arm(sleep); }

  // What the handler returns then cannot go on: it is dropped as incomplete at
  // the end.
  void Close(Lcore& lcore) noexcept {
    stage_.Close(lcore);
    while (more()) {
      MbufPtr made = Tell(lcore);
      if (made) stage_.DropMade(*made.Release(), lcore);
    }
  }

  // Any thread.
  const StageCounts<kReassemblyDrops>& counts() const noexcept {
    return stage_.counts();
  }
  const DatagramCounts& datagrams() const noexcept {
    return stage_.datagrams();
  }
  uint64_t bytes_held() const noexcept { return stage_.bytes_held(); }
  const Handler& handler() const noexcept { return handler_; }

 private:
  ReassembleAnd(Reassemble stage, Handler handler)
      : stage_(std::move(stage)), handler_(std::move(handler)) {}

  MbufPtr Tell(Lcore& lcore) noexcept {
    const Reassemble::Abandoned gone = stage_.TakeAbandoned(lcore);
    return handler_.OnAbandoned(MbufPtr(*gone.first, lcore.cache()),
                                gone.reason, lcore);
  }

  Reassemble stage_;
  Handler handler_;
};

}  // namespace weir

#endif  // WEIR_STAGE_REASSEMBLE_AND_H_
