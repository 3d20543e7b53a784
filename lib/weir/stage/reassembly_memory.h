// All the memory of a reassembly table, taken and touched at set-up.

#ifndef WEIR_STAGE_REASSEMBLY_MEMORY_H_
#define WEIR_STAGE_REASSEMBLY_MEMORY_H_

#include <span>

#include "absl/status/statusor.h"
#include "weir/memory/arena.h"
#include "weir/stage/abandoned_queue.h"
#include "weir/stage/datagram_index.h"
#include "weir/stage/fragment_set.h"
#include "weir/stage/reassembly_context.h"
#include "weir/stage/reassembly_options.h"
#include "weir/stage/reassembly_sources.h"

namespace weir {

// Owns what the spans show, which is zeroed.
struct ReassemblyMemory {
  // What `options`, which are in range, need. As Arena::Create. Control thread,
  // before Launch.
  static absl::StatusOr<ReassemblyMemory> Create(
      const ReassemblyOptions& options);

  Arena arena;
  std::span<ReassemblyContext> contexts;
  std::span<DatagramIndex::Bucket> buckets;
  std::span<FragmentBlock> blocks;
  std::span<ReassemblySources::Bucket> sources;
  std::span<Ipv6Addresses> addresses;
  std::span<AbandonedQueue::Entry> abandoned;
};

}  // namespace weir

#endif  // WEIR_STAGE_REASSEMBLY_MEMORY_H_
