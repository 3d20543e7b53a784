// The parts of ReassemblyTable that are worth a copy where they are called.

#ifndef WEIR_STAGE_REASSEMBLY_ADD_H_
#define WEIR_STAGE_REASSEMBLY_ADD_H_

#include <cstdint>

#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/stage/fragment_data.h"
#include "weir/stage/fragment_set.h"
#include "weir/stage/reassembly_context.h"
#include "weir/stage/reassembly_fragment.h"
#include "weir/stage/reassembly_table.h"

namespace weir {

// A fragment was inserted that agrees with the others.
[[gnu::always_inline]] inline ReassemblyTable::Result ReassemblyTable::Keep(
    uint32_t number, const ReassemblyFragment& read,
    MbufCache& cache) noexcept {
  Context& context = contexts_[number];
  context.ecn_seen =
      static_cast<uint8_t>(context.ecn_seen | 1U << (read.ecn & 3));
  context.bytes += read.bytes();
  if (read.is_last) context.total = read.end;
  if (context.fragments.size() > max_fragments_per_datagram_) [[unlikely]]
    return GiveUp(number, ReassemblyDrop::kTooManyFragments, cache);
  if (context.bytes == context.total) return Complete(number, cache);
  return {Outcome::kPending, {}, nullptr};
}

// Of most, which lie behind or in front of all that is there, the whole way.
[[gnu::always_inline]] inline ReassemblyTable::Result ReassemblyTable::Insert(
    uint32_t number, Mbuf& fragment, const ReassemblyFragment& read, Room room,
    MbufCache& cache) noexcept {
  Context& context = contexts_[number];
  last_ = number;
  const bool fits = room == Room::kAmple || HasRoom(context, read);
  if (!fits || !fragment.is_plain()) [[unlikely]]
    return InsertWithCare(number, fragment, read, cache);
  Reserve(context, read);
  const FragmentRecord record =
      FragmentRecord(cache.pool().IndexOf(fragment), read.begin, read.end);
  bool ends_disagree;
  if (context.fragments.Append(record, blocks_)) {
    ends_disagree = context.total != Context::kUnknown;
  } else if (context.fragments.Prepend(record, blocks_)) {
    ends_disagree = read.is_last;
  } else {
    return InsertAmong(number, fragment, record, read, cache);
  }
  if (ends_disagree) [[unlikely]]
    return Contradict(number, read, cache);
  TrimPlain(fragment, read.begin, read.bytes());
  return Keep(number, read, cache);
}

[[gnu::always_inline]] inline ReassemblyTable::Result ReassemblyTable::Add(
    Mbuf& fragment, const ReassemblyFragment& read, uint64_t now, Room room,
    MbufCache& cache) noexcept {
  uint32_t number = read.follows ? last_ : read.guess;
  if (!IsCollecting(number, read, now)) {
    const Found found = FindOrOpen(read, now, cache);
    if (found.number == kNone) [[unlikely]]
      return Drop(fragment, found.reason, cache);
    number = found.number;
  }
  return Insert(number, fragment, read, room, cache);
}

// Makes context `number` free; its fragments are gone or not its own any
// more.
[[gnu::always_inline]] inline void ReassemblyTable::Release(
    uint32_t number) noexcept {
  Context& context = contexts_[number];
  context.fragments.Clear(blocks_);
  context.state = Context::State::kFree;
  context.CloseKey();
  index_.Erase(context.hash, context.place);
  sources_[context.source]
      .datagrams.Remove<&Context::source_older, &Context::source_newer>(
          contexts_, number);
  sources_.Release(context.source);
  AgeOf(context).Remove<&Context::older, &Context::newer>(contexts_, number);
  context.newer = free_;
  free_ = number;
}

}  // namespace weir

#endif  // WEIR_STAGE_REASSEMBLY_ADD_H_
