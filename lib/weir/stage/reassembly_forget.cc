// The part of ReassemblyTable that gives datagrams up.

#include <algorithm>
#include <array>
#include <span>

#include "weir/stage/reassembly_add.h"
#include "weir/stage/reassembly_table.h"

namespace weir {

uint32_t ReassemblyTable::Oldest() const noexcept {
  const uint32_t v4 = ages_[0].oldest;
  const uint32_t v6 = ages_[1].oldest;
  if (v4 == kNone) return v6;
  if (v6 == kNone) return v4;
  return contexts_[v4].deadline - timeouts_[0] <=
                 contexts_[v6].deadline - timeouts_[1]
             ? v4
             : v6;
}

// Makes room for a fragment of context `number`; false, with the reason, if
// that context itself had to go.
bool ReassemblyTable::MakeRoom(uint32_t number, uint32_t bytes,
                               ReassemblyDrop& reason,
                               MbufCache& cache) noexcept {
  const ReassemblySource& source = sources_[contexts_[number].source];
  for (;;) {
    uint32_t victim;
    if (source.fragments >= max_fragments_per_source_) {
      reason = ReassemblyDrop::kSourceShare;
      victim = source.datagrams.oldest;
    } else if (counts_.fragments_left == 0) {
      reason = ReassemblyDrop::kNoFragments;
      victim = Oldest();
    } else if (bytes > counts_.bytes_left) {
      reason = ReassemblyDrop::kNoBytes;
      victim = Oldest();
    } else {
      return true;
    }
    Forget(victim, reason, cache);
    if (victim == number) return false;
  }
}

// What `context` holds goes, for `reason`.
void ReassemblyTable::FreeFragments(Context& context, ReassemblyDrop reason,
                                    MbufCache& cache) noexcept {
  std::array<Mbuf*, 64> batch;
  uint32_t count = 0;
  MbufPool& pool = cache.pool();
  // Plain mbufs are not read: under a flood none was for long.
  const auto free = [&](std::span<Mbuf* const> fragments) {
    context.has_chains ? cache.FreePackets(fragments)
                       : cache.FreeSegments(fragments);
  };
  context.fragments.ForEach(blocks_, [&](const FragmentRecord& record) {
    if (record.unit() == 0 && abandoned_.Push({record.mbuf(), reason})) return;
    batch[count++] = &pool.mbuf(record.mbuf());
    if (count == batch.size()) {
      free(batch);
      count = 0;
    }
  });
  free({batch.data(), count});
  const uint32_t fragments = context.fragments.size();
  counts_.packets.drops[static_cast<size_t>(reason)].Add(fragments);
  sources_[context.source].fragments -= fragments;
  counts_.fragments_left += fragments;
  counts_.bytes_left += context.bytes;
  context.bytes = 0;
  context.fragments.Clear(blocks_);
}

void ReassemblyTable::Reject(Mbuf& datagram, size_t parse_reason,
                             MbufCache& cache) noexcept {
  const size_t reason = kReassemblyReasons + parse_reason;
  Drop(datagram, static_cast<ReassemblyDrop>(reason), cache);
}

void ReassemblyTable::DropMade(Mbuf& packet, MbufCache& cache) noexcept {
  CountMade();
  Drop(packet, ReassemblyDrop::kClosed, cache);
}

void ReassemblyTable::Forget(uint32_t number, ReassemblyDrop reason,
                             MbufCache& cache) noexcept {
  Context& context = contexts_[number];
  // Whoever makes room goes on with the next, of which nothing was touched for
  // long: it is fetched now, and its own neighbour for the time after that.
  if (context.newer != kNone) {
    const Context& next = contexts_[context.newer];
    index_.Prefetch(next.hash);
    __builtin_prefetch(&sources_[next.source], 1);
    __builtin_prefetch(&next.fragments, 1);
    if (next.is_ipv6()) __builtin_prefetch(&addresses_[context.newer], 1);
    if (next.newer != kNone) __builtin_prefetch(&contexts_[next.newer], 1);
  }
  if (context.state == Context::State::kRemembered) {
    --sources_[context.source].fragments;
    counts_.datagrams.remembered.Set(counts_.datagrams.remembered.value() - 1);
  } else {
    FreeFragments(context, reason, cache);
    counts_.datagrams.given_up[static_cast<size_t>(reason)].Add(1);
    --counts_.pending;
  }
  Release(number);
}

void ReassemblyTable::Remember(uint32_t number, ReassemblyDrop reason,
                               MbufCache& cache) noexcept {
  Context& context = contexts_[number];
  FreeFragments(context, reason, cache);
  ++sources_[context.source].fragments;
  context.state = Context::State::kRemembered;
  context.CloseKey();
  context.reason = reason;
  counts_.datagrams.given_up[static_cast<size_t>(reason)].Add(1);
  --counts_.pending;
  counts_.datagrams.remembered.Add(1);
}

void ReassemblyTable::Expire(uint64_t now, uint32_t most,
                             MbufCache& cache) noexcept {
  for (const ContextList& age : ages_) {
    for (; most > 0 && age.oldest != kNone &&
           contexts_[age.oldest].deadline <= now;
         --most) {
      Forget(age.oldest, ReassemblyDrop::kTimeout, cache);
    }
  }
  Publish();
}

uint64_t ReassemblyTable::next_deadline() const noexcept {
  uint64_t next = ~uint64_t{0};
  for (const ContextList& age : ages_) {
    if (age.oldest == kNone) continue;
    next = std::min<uint64_t>(next, contexts_[age.oldest].deadline);
  }
  return next;
}

void ReassemblyTable::Close(uint64_t now, MbufCache& cache) noexcept {
  Expire(now, ~uint32_t{0}, cache);
  while (Oldest() != kNone) {
    Forget(Oldest(), ReassemblyDrop::kClosed, cache);
  }
  Publish();
}

}  // namespace weir
