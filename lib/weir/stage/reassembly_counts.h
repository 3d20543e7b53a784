// What a reassembly table counts: in plain numbers while it works on a burst,
// which everybody can read once they are published.

#ifndef WEIR_STAGE_REASSEMBLY_COUNTS_H_
#define WEIR_STAGE_REASSEMBLY_COUNTS_H_

#include <array>
#include <cstdint>

#include "weir/base/counter.h"
#include "weir/pipeline/stage_stats.h"
#include "weir/stage/reassembly_options.h"

namespace weir {

// Datagrams, while StageCounts counts packets. begun = completed + sum of
// given_up + pending. Owner lcore writes.
struct DatagramCounts {
  Counter begun;
  Counter completed;
  std::array<Counter, kReassemblyReasons> given_up;
  // Now: collecting; given up but not forgotten.
  Counter pending;
  Counter remembered;
};

// Owner lcore only, but for what is published.
struct ReassemblyCounts {
  explicit ReassemblyCounts(const ReassemblyOptions& options) noexcept
      : max_fragments(options.max_fragments),
        max_bytes(options.max_bytes),
        fragments_left(max_fragments),
        bytes_left(max_bytes) {}

  void Publish() noexcept {
    packets.held.Set(max_fragments - fragments_left);
    packets.taken.Set(taken);
    packets.made.Set(made);
    datagrams.begun.Set(begun);
    datagrams.completed.Set(completed);
    datagrams.pending.Set(pending);
    bytes_held.Set(max_bytes - bytes_left);
  }

  uint32_t max_fragments;
  uint64_t max_bytes;
  // What more may be held.
  uint32_t fragments_left;
  uint64_t bytes_left;
  uint64_t taken = 0;
  uint64_t made = 0;
  uint64_t begun = 0;
  uint64_t completed = 0;
  uint64_t pending = 0;

  // Published; any thread.
  StageCounts<kReassemblyDrops> packets;
  DatagramCounts datagrams;
  Counter bytes_held;
};

}  // namespace weir

#endif  // WEIR_STAGE_REASSEMBLY_COUNTS_H_
