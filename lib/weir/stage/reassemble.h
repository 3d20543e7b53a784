// The stage that makes datagrams of fragments.

#ifndef WEIR_STAGE_REASSEMBLE_H_
#define WEIR_STAGE_REASSEMBLE_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/sleep.h"
#include "weir/pipeline/stage_stats.h"
#include "weir/stage/abandoned_queue.h"
#include "weir/stage/parse.h"
#include "weir/stage/reassembly_options.h"
#include "weir/stage/reassembly_table.h"

namespace weir {

// A burst stage behind Parse. What is no fragment passes; fragments are kept
// until their datagram is whole, which takes the place of the last of them: a
// chain of their mbufs, parsed as a frame that came whole. What is given up is
// freed and counted by reason, that which is left at the end too. Owner lcore
// only.
class Reassemble {
 public:
  static constexpr absl::string_view kName = "reassemble";
  using Drop = ReassemblyDrop;
  static constexpr auto kDropNames = kReassemblyDropNames;

  // As ReassemblyTable::Create. Control thread, before Launch.
  static absl::StatusOr<Reassemble> Create(const ReassemblyOptions& options) {
    auto table = ReassemblyTable::Create(options);
    if (!table.ok()) return table.status();
    return Reassemble(*std::move(table), options.clock);
  }

  void OnBurst(Burst& burst, Lcore& lcore) noexcept;

  // Forgets what is out of time.
  void Tick(Lcore& lcore) noexcept {
    if (clock_ == ReassemblyClock::kTsc) now_ = lcore.now_tsc();
    table_.Expire(now_, kExpiredAtOnce, lcore.cache());
  }

  // When the oldest datagram is out of time. The clock of frames stands while
  // none come.
  void Arm(Sleep& sleep) const noexcept {
    if (clock_ == ReassemblyClock::kTsc) sleep.WakeAt(table_.next_deadline());
  }

  // Forgets the rest.
  void Close(Lcore& lcore) noexcept { table_.Close(now_, lcore.cache()); }

  // With Options::keeps_abandoned, for ReassembleAnd: as those of
  // ReassemblyTable.
  struct Abandoned {
    Mbuf* first;
    ReassemblyDrop reason;
  };
  bool has_abandoned() const noexcept { return table_.has_abandoned(); }
  Abandoned TakeAbandoned(Lcore& lcore) noexcept {
    const AbandonedQueue::Entry gone = table_.TakeAbandoned();
    return {&lcore.cache().pool().mbuf(gone.mbuf), gone.reason};
  }
  void CountMade() noexcept { table_.CountMade(); }
  void DropMade(Mbuf& packet, Lcore& lcore) noexcept {
    table_.DropMade(packet, lcore.cache());
  }

  // Any thread.
  const StageCounts<kReassemblyDrops>& counts() const noexcept {
    return table_.counts();
  }
  const DatagramCounts& datagrams() const noexcept {
    return table_.datagrams();
  }
  uint64_t bytes_held() const noexcept { return table_.bytes_held(); }

 private:
  // Datagrams forgotten in one poll, at most: a poll stays short.
  static constexpr uint32_t kExpiredAtOnce = 32;

  Reassemble(ReassemblyTable table, ReassemblyClock clock) noexcept
      : table_(std::move(table)), clock_(clock) {}

  // The clock of frames does not run backwards.
  void AdvanceTo(const Mbuf& frame, Lcore& lcore) noexcept {
    if (frame.timestamp_ns() <= now_) return;
    now_ = frame.timestamp_ns();
    table_.Expire(now_, kExpiredAtOnce, lcore.cache());
  }

  ReassemblyTable table_;
  ReassemblyClock clock_;
  Parse parse_;
  uint64_t now_ = 0;
};

}  // namespace weir

#endif  // WEIR_STAGE_REASSEMBLE_H_
