#include "weir/stage/reassembly_table.h"

#include <cstring>
#include <optional>
#include <utility>

#include "weir/base/tsc_clock.h"
#include "weir/mbuf/copy_packet.h"
#include "weir/stage/fragment_chain.h"
#include "weir/stage/read_fragment.h"
#include "weir/stage/reassembly_add.h"

namespace weir {
namespace {

uint64_t Ticks(uint64_t ns, ReassemblyClock clock) {
  if (clock == ReassemblyClock::kFrames) return ns;
  // In seconds and the rest, so that nothing overflows.
  constexpr uint64_t kSecond = 1'000'000'000;
  const uint64_t hz = TscHz();
  return ns / kSecond * hz + ns % kSecond * hz / kSecond;
}

ReassemblyDrop DropFor(ReassemblyFragment::Fault fault) noexcept {
  return fault == ReassemblyFragment::Fault::kHeaderChecksum
             ? ReassemblyDrop::kHeaderChecksum
             : ReassemblyDrop::kNotParsed;
}

}  // namespace

absl::StatusOr<ReassemblyTable> ReassemblyTable::Create(
    const ReassemblyOptions& options) {
  const absl::Status checked = CheckReassemblyOptions(options);
  if (!checked.ok()) return checked;
  auto memory = ReassemblyMemory::Create(options);
  if (!memory.ok()) return memory.status();
  return ReassemblyTable(options, *std::move(memory));
}

ReassemblyTable::ReassemblyTable(const ReassemblyOptions& options,
                                 ReassemblyMemory memory)
    : contexts_(memory.contexts),
      index_(memory.buckets),
      sources_(memory.sources),
      addresses_(memory.addresses),
      blocks_(memory.blocks),
      abandoned_(memory.abandoned),
      timeouts_{Ticks(options.ipv4_timeout_ns, options.clock),
                Ticks(options.ipv6_timeout_ns, options.clock)},
      max_fragments_per_datagram_(options.max_fragments_per_datagram),
      max_fragments_per_source_(SourceShare(options)),
      seed_(options.seed ? *options.seed : RandomReassemblySeed()),
      counts_(options),
      memory_(std::move(memory)) {
  for (size_t i = contexts_.size(); i-- > 0;) {
    contexts_[i].fragments.Reset();
    contexts_[i].CloseKey();
    contexts_[i].newer = free_;
    free_ = static_cast<uint32_t>(i);
  }
}

ReassemblyTable::Result ReassemblyTable::Drop(Mbuf& fragment,
                                              ReassemblyDrop reason,
                                              MbufCache& cache) noexcept {
  counts_.packets.drops[static_cast<size_t>(reason)].Add(1);
  Mbuf* const packet = &fragment;
  cache.FreePackets({&packet, 1});
  return {Outcome::kDropped, reason, nullptr};
}

ReassemblyTable::Arrival ReassemblyTable::Read(
    std::span<Mbuf* const> frames,
    std::span<ReassemblyFragment> read) noexcept {
  DatagramKey before = DatagramKey::Nobody();
  uint32_t hash = 0;
  uint32_t whole = 0;
  ReassemblyFragment* next = read.data();
  for (Mbuf* const frame : frames) {
    ReadFragment(*frame, seed_, *next);
    if (next->key == before) {
      next->follows = true;
      whole += next->fault == ReassemblyFragment::Fault::kWhole ? 1 : 0;
    } else {
      next->follows = false;
      before = next->key;
      hash = DatagramHash(before, seed_);
      index_.Prefetch(hash);
    }
    next->hash = hash;
    ++next;
  }
  next->follows = false;
  const auto count = static_cast<uint32_t>(frames.size());
  if (free_ == kNone) [[unlikely]]
    ApproachSources(read.first(count));
  return {count - whole, Approach(read.first(count))};
}

// Finds runs and fetches the contexts that may be those of datagrams; returns
// the bytes of all fragments.
[[gnu::always_inline]] inline uint64_t ReassemblyTable::Approach(
    std::span<ReassemblyFragment> read) const noexcept {
  RunFinder runs;
  uint64_t bytes = 0;
  for (ReassemblyFragment& next : read) {
    bytes += next.bytes();
    if (next.follows) {
      runs.Continue(next);
      continue;
    }
    runs.Begin(next);
    next.guess = index_.Guess(next.hash);
    const Context& context = contexts_[next.guess];
    __builtin_prefetch(&context, 1);
    __builtin_prefetch(&context.fragments, 1);
    if (next.is_ipv6()) __builtin_prefetch(&addresses_[next.guess], 1);
  }
  return bytes;
}

// Fetches where sources are counted, for where there is no room for datagrams
// many a fragment brings one.
void ReassemblyTable::ApproachSources(
    std::span<const ReassemblyFragment> read) const noexcept {
  for (const ReassemblyFragment& next : read) {
    if (next.follows || next.fault != ReassemblyFragment::Fault::kNone)
      continue;
    sources_.Prefetch(SourceHash(next, seed_));
  }
}

// A context for the datagram of `read`; the oldest makes room if there is none.
[[gnu::always_inline]] inline uint32_t ReassemblyTable::Open(
    const ReassemblyFragment& read, uint64_t now, MbufCache& cache) noexcept {
  const uint32_t source = SourceHash(read, seed_);
  sources_.Prefetch(source);
  if (free_ == kNone) [[unlikely]] {
    Forget(Oldest(), ReassemblyDrop::kNoDatagrams, cache);
  }
  const uint32_t number = free_;
  const uint32_t place = index_.Insert(read.hash, number);
  if (place == DatagramIndex::kNone) [[unlikely]]
    return kNone;
  Context& context = contexts_[number];
  free_ = context.newer;
  context.key = read.key;
  context.deadline = now + timeouts_[read.is_ipv6() ? 1 : 0];
  context.hash = read.hash;
  context.place = place;
  context.source = sources_.Take(source);
  context.bytes = 0;
  context.total = Context::kUnknown;
  context.state = Context::State::kCollecting;
  context.ecn_seen = 0;
  context.has_chains = false;
  context.fragments.Reset(read.begin);
  if (read.is_ipv6()) {
    std::memcpy(addresses_[number].data(), read.addresses,
                sizeof(Ipv6Addresses));
  }
  AgeOf(context).Add<&Context::older, &Context::newer>(contexts_, number);
  sources_[context.source]
      .datagrams.Add<&Context::source_older, &Context::source_newer>(contexts_,
                                                                     number);
  ++counts_.begun;
  ++counts_.pending;
  return number;
}

// The context of `read`, a new one if there is none yet.
ReassemblyTable::Found ReassemblyTable::FindOrOpen(
    const ReassemblyFragment& read, uint64_t now, MbufCache& cache) noexcept {
  if (read.fault != ReassemblyFragment::Fault::kNone) [[unlikely]] {
    return {kNone, DropFor(read.fault)};
  }
  const uint32_t number = Find(read);
  if (number != kNone) {
    const Context& context = contexts_[number];
    if (context.deadline > now) [[likely]] {
      return context.state == Context::State::kRemembered
                 ? Found{kNone, context.reason}
                 : Found{number, {}};
    }
    Forget(number, ReassemblyDrop::kTimeout, cache);
  }
  return {Open(read, now, cache), ReassemblyDrop::kNoDatagrams};
}

// A fragment for which there may be no room, or that is no plain mbuf.
ReassemblyTable::Result ReassemblyTable::InsertWithCare(
    uint32_t number, Mbuf& fragment, const ReassemblyFragment& read,
    MbufCache& cache) noexcept {
  ReassemblyDrop reason;
  if (!HasRoom(contexts_[number], read) &&
      !MakeRoom(number, read.bytes(), reason, cache)) {
    return Drop(fragment, reason, cache);
  }
  Mbuf* kept = &fragment;
  if (read.begin == 0 && fragment.is_shared()) {
    // Its headers will be written to.
    kept = CopyPacket(fragment, cache);
    if (kept == nullptr) return Drop(fragment, ReassemblyDrop::kNoMbuf, cache);
    Mbuf* const original = &fragment;
    cache.FreePackets({&original, 1});
  }
  Reserve(contexts_[number], read);
  const FragmentRecord record =
      FragmentRecord(cache.pool().IndexOf(*kept), read.begin, read.end);
  return InsertAmong(number, *kept, record, read, cache);
}

// A fragment that may belong between others.
ReassemblyTable::Result ReassemblyTable::InsertAmong(
    uint32_t number, Mbuf& fragment, const FragmentRecord& record,
    const ReassemblyFragment& read, MbufCache& cache) noexcept {
  Context& context = contexts_[number];
  const uint32_t end = read.end;
  const bool ends_disagree =
      context.total != Context::kUnknown
          ? end > context.total || (read.is_last && end != context.total)
          : read.is_last && end < context.fragments.end();
  const FragmentSet::Insertion met = context.fragments.Insert(record, blocks_);
  if (met.place != FragmentSet::Place::kNew) [[unlikely]] {
    return Meet(number, met, fragment, read, cache);
  }
  if (ends_disagree) [[unlikely]]
    return Contradict(number, read, cache);
  if (fragment.is_plain()) [[likely]] {
    TrimPlain(fragment, read.begin, read.bytes());
  } else {
    context.has_chains = true;
    const PacketInfo& info = fragment.info();
    if (info.trailer_bytes != 0) {
      TrimTrailer(fragment, info.trailer_bytes, cache);
    }
    if (read.begin != 0) fragment.TrimFront(info.l4_offset);
  }
  return Keep(number, read, cache);
}

// A fragment was inserted that says another end than the others, or lies beyond
// theirs.
ReassemblyTable::Result ReassemblyTable::Contradict(
    uint32_t number, const ReassemblyFragment& read,
    MbufCache& cache) noexcept {
  contexts_[number].bytes += read.bytes();
  return GiveUp(number, ReassemblyDrop::kEndsDisagree, cache);
}

ReassemblyTable::Result ReassemblyTable::GiveUp(uint32_t number,
                                                ReassemblyDrop reason,
                                                MbufCache& cache) noexcept {
  Remember(number, reason, cache);
  return {Outcome::kDropped, reason, nullptr};
}

// A fragment that met bytes that are there.
ReassemblyTable::Result ReassemblyTable::Meet(uint32_t number,
                                              FragmentSet::Insertion met,
                                              Mbuf& fragment,
                                              const ReassemblyFragment& read,
                                              MbufCache& cache) noexcept {
  // Its room was taken already.
  ++counts_.fragments_left;
  counts_.bytes_left += read.bytes();
  --sources_[contexts_[number].source].fragments;
  if (met.place == FragmentSet::Place::kSame) {
    const Mbuf& held = cache.pool().mbuf(met.mbuf);
    const DataPlace there{&held, read.begin == 0 ? held.info().l4_offset : 0U};
    if (SameData(there, {&fragment, fragment.info().l4_offset}, read.bytes())) {
      return Drop(fragment, ReassemblyDrop::kDuplicate, cache);
    }
  }
  Remember(number, ReassemblyDrop::kOverlap, cache);
  return Drop(fragment, ReassemblyDrop::kOverlap, cache);
}

ReassemblyTable::Result ReassemblyTable::Complete(uint32_t number,
                                                  MbufCache& cache) noexcept {
  Context& context = contexts_[number];
  const uint32_t fragments = context.fragments.size();
  Mbuf& first = ChainFragments(context, blocks_, cache.pool());
  const Reassembled whole{.bytes = context.total,
                          .ecn_seen = context.ecn_seen,
                          .is_ipv6 = context.is_ipv6()};
  sources_[context.source].fragments -= fragments;
  counts_.fragments_left += fragments;
  counts_.bytes_left += context.bytes;
  --counts_.pending;
  Release(number);
  return Deliver(first, whole, fragments, cache);
}

// A datagram that is complete and in no context any more.
[[gnu::always_inline]] inline ReassemblyTable::Result ReassemblyTable::Deliver(
    Mbuf& first, const Reassembled& whole, uint32_t fragments,
    MbufCache& cache) noexcept {
  counts_.taken += fragments;
  ++counts_.made;
  const std::optional<ReassemblyDrop> fault = Finish(first, whole);
  if (fault.has_value()) [[unlikely]] {
    counts_.datagrams.given_up[static_cast<size_t>(*fault)].Add(1);
    return Drop(first, *fault, cache);
  }
  ++counts_.completed;
  return {Outcome::kComplete, {}, &first};
}

// A datagram that came in one piece of a burst needs no context.
[[gnu::always_inline]] inline ReassemblyTable::Result ReassemblyTable::AddWhole(
    const FragmentRun& run, MbufCache& cache) noexcept {
  ++counts_.begun;
  const Reassembled whole{.bytes = run.bytes,
                          .ecn_seen = run.ecn_seen,
                          .is_ipv6 = run.read->is_ipv6()};
  const auto count = static_cast<uint32_t>(run.frames.size());
  return Deliver(ChainRun(run), whole, count, cache);
}

ReassemblyTable::Run ReassemblyTable::AddRun(std::span<Mbuf* const> frames,
                                             const ReassemblyFragment* read,
                                             uint64_t now,
                                             MbufCache& cache) noexcept {
  constexpr Run kNothing{0, {Outcome::kPending, {}, nullptr}};
  if (read->run > max_fragments_per_datagram_) return kNothing;
  const FragmentRun run = RunOf(frames, read);
  if (!run.has_one_key()) [[unlikely]]
    return kNothing;
  if (run.is_whole()) {
    if (free_ == kNone || Find(*read) != kNone) return kNothing;
    return {run.frames.size(), AddWhole(run, cache)};
  }
  if (run.is_backwards()) return kNothing;
  return AddBehind(run, now, cache);
}

// A run that lies behind all that is there of its datagram.
ReassemblyTable::Run ReassemblyTable::AddBehind(const FragmentRun& run,
                                                uint64_t now,
                                                MbufCache& cache) noexcept {
  constexpr Run kNothing{0, {Outcome::kPending, {}, nullptr}};
  const auto count = static_cast<uint32_t>(run.frames.size());
  uint32_t number = run.read->guess;
  if (!IsCollecting(number, *run.read, now)) {
    number = FindOrOpen(*run.read, now, cache).number;
    if (number == kNone) return kNothing;
  }
  Context& context = contexts_[number];
  FragmentSet& set = context.fragments;
  if (context.total != Context::kUnknown || run.read->begin < set.end() ||
      set.size() + count > max_fragments_per_datagram_) {
    return kNothing;
  }
  last_ = number;
  counts_.fragments_left -= count;
  counts_.bytes_left -= run.bytes;
  sources_[context.source].fragments += count;
  context.bytes += run.bytes;
  context.ecn_seen = static_cast<uint8_t>(context.ecn_seen | run.ecn_seen);
  for (uint32_t i = 0; i < count; ++i) {
    Mbuf& fragment = *run.frames[i];
    const ReassemblyFragment& read = run.read[i];
    const FragmentRecord record(cache.pool().IndexOf(fragment), read.begin,
                                read.end);
    if (!set.Append(record, blocks_)) set.Insert(record, blocks_);
    TrimPlain(fragment, read.begin, read.bytes());
  }
  if (run.read[count - 1].is_last) context.total = set.end();
  if (context.bytes == context.total) {
    return {count, Complete(number, cache)};
  }
  return {count, {Outcome::kPending, {}, nullptr}};
}

}  // namespace weir
