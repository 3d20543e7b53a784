#include "weir/stage/reassembly_memory.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "weir/mbuf/burst.h"

namespace weir {
namespace {

struct Counts {
  explicit Counts(const ReassemblyOptions& options)
      : datagrams(options.max_datagrams),
        buckets(DatagramIndex::BucketsFor(datagrams)),
        blocks(FragmentBlocks::Needed(options.max_fragments,
                                      options.max_fragments_per_datagram)),
        sources(ReassemblySources::BucketsFor(datagrams)),
        abandoned(options.keeps_abandoned ? datagrams + kMaxBurst : 0) {}

  uint64_t datagrams;
  uint64_t buckets;
  uint64_t blocks;
  uint64_t sources;
  uint64_t abandoned;

  uint64_t bytes() const {
    return datagrams * (sizeof(ReassemblyContext) + sizeof(Ipv6Addresses)) +
           buckets * sizeof(DatagramIndex::Bucket) +
           blocks * sizeof(FragmentBlock) +
           sources * sizeof(ReassemblySources::Bucket) +
           abandoned * sizeof(AbandonedQueue::Entry);
  }
};

// Makes `count` objects of the first bytes of `memory`, which it loses. Those
// with the greatest alignment come first.
template <typename T>
std::span<T> Carve(std::span<std::byte>& memory, uint64_t count) {
  T* const first = reinterpret_cast<T*>(memory.data());
  memory = memory.subspan(count * sizeof(T));
  for (uint64_t i = 0; i < count; ++i) new (first + i) T();
  return {first, count};
}

}  // namespace

absl::StatusOr<ReassemblyMemory> ReassemblyMemory::Create(
    const ReassemblyOptions& options) {
  const Counts counts(options);
  auto arena = Arena::Create({.bytes = counts.bytes(),
                              .numa_node = options.numa_node,
                              .best_rung = PageRung::kTransparent});
  if (!arena.ok()) return arena.status();
  std::span<std::byte> memory = arena->bytes();
  const auto contexts = Carve<ReassemblyContext>(memory, counts.datagrams);
  const auto buckets = Carve<DatagramIndex::Bucket>(memory, counts.buckets);
  const auto blocks = Carve<FragmentBlock>(memory, counts.blocks);
  const auto sources = Carve<ReassemblySources::Bucket>(memory, counts.sources);
  const auto addresses = Carve<Ipv6Addresses>(memory, counts.datagrams);
  const auto abandoned = Carve<AbandonedQueue::Entry>(memory, counts.abandoned);
  return ReassemblyMemory{*std::move(arena), contexts,  buckets,  blocks,
                          sources,           addresses, abandoned};
}

}  // namespace weir
