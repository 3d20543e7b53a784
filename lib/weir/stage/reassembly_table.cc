#include "weir/stage/reassembly_table.h"

#include <cstring>
#include <optional>
#include <utility>

#include "weir/base/tsc_clock.h"
#include "weir/mbuf/copy_packet.h"
#include "weir/stage/fragment_chain.h"
#include "weir/stage/reassembled.h"

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

// A context for the datagram of `read`; the oldest makes room if there is none.
[[gnu::always_inline]] inline uint32_t ReassemblyTable::Open(
    const ReassemblyFragment& read, uint64_t now, MbufCache& cache) noexcept {
  const uint32_t source =
      SourceHash(read, seed_) & static_cast<uint32_t>(sources_.size() - 1);
  __builtin_prefetch(&sources_[source], 1);
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
  context.source = source;
  context.bytes = 0;
  context.total = Context::kUnknown;
  context.state = Context::State::kCollecting;
  context.ecn_seen = 0;
  context.has_chains = false;
  context.fragments.Reset(read.unit);
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
  const uint32_t number = index_.Find(read.hash, [&](uint32_t candidate) {
    return contexts_[candidate].HasKey(read.key) &&
           HasAddresses(candidate, read);
  });
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

// A fragment for which there may be no room, or that is no plain mbuf.
ReassemblyTable::Result ReassemblyTable::InsertWithCare(
    uint32_t number, Mbuf& fragment, const ReassemblyFragment& read,
    MbufCache& cache) noexcept {
  ReassemblyDrop reason;
  if (!HasRoom(contexts_[number], read) &&
      !MakeRoom(number, read.bytes, reason, cache)) {
    return Drop(fragment, reason, cache);
  }
  Mbuf* kept = &fragment;
  if (read.unit == 0 && fragment.is_shared()) {
    // Its headers will be written to.
    kept = CopyPacket(fragment, cache);
    if (kept == nullptr) return Drop(fragment, ReassemblyDrop::kNoMbuf, cache);
    Mbuf* const original = &fragment;
    cache.FreePackets({&original, 1});
  }
  Reserve(contexts_[number], read);
  const FragmentRecord record(cache.pool().IndexOf(*kept), read.unit,
                              read.bytes);
  return InsertAmong(number, *kept, record, read, cache);
}

// A fragment that may belong between others.
ReassemblyTable::Result ReassemblyTable::InsertAmong(
    uint32_t number, Mbuf& fragment, const FragmentRecord& record,
    const ReassemblyFragment& read, MbufCache& cache) noexcept {
  Context& context = contexts_[number];
  const uint32_t end = read.end();
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
    TrimPlain(fragment, read.unit, read.bytes);
  } else {
    context.has_chains = true;
    const PacketInfo& info = fragment.info();
    if (info.trailer_bytes != 0) {
      TrimTrailer(fragment, info.trailer_bytes, cache);
    }
    if (read.unit != 0) fragment.TrimFront(info.l4_offset);
  }
  return Keep(number, read, cache);
}

// A fragment was inserted that says another end than the others, or lies beyond
// theirs.
ReassemblyTable::Result ReassemblyTable::Contradict(
    uint32_t number, const ReassemblyFragment& read,
    MbufCache& cache) noexcept {
  contexts_[number].bytes += read.bytes;
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
  counts_.bytes_left += read.bytes;
  --sources_[contexts_[number].source].fragments;
  if (met.place == FragmentSet::Place::kSame) {
    const Mbuf& held = cache.pool().mbuf(met.mbuf);
    const DataPlace there{&held, read.unit == 0 ? held.info().l4_offset : 0U};
    if (SameData(there, {&fragment, fragment.info().l4_offset}, read.bytes)) {
      return Drop(fragment, ReassemblyDrop::kDuplicate, cache);
    }
  }
  Remember(number, ReassemblyDrop::kOverlap, cache);
  return Drop(fragment, ReassemblyDrop::kOverlap, cache);
}

// Makes context `number` free; its fragments are gone or not its own any more.
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
  AgeOf(context).Remove<&Context::older, &Context::newer>(contexts_, number);
  context.newer = free_;
  free_ = number;
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
  counts_.taken += fragments;
  ++counts_.made;
  --counts_.pending;
  Release(number);
  const std::optional<ReassemblyDrop> fault = Finish(first, whole);
  if (fault.has_value()) [[unlikely]] {
    counts_.datagrams.given_up[static_cast<size_t>(*fault)].Add(1);
    return Drop(first, *fault, cache);
  }
  ++counts_.completed;
  return {Outcome::kComplete, {}, &first};
}

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
  // All at once, for none of it was touched for long.
  index_.Prefetch(context.hash);
  __builtin_prefetch(&sources_[context.source], 1);
  if (context.newer != kNone) __builtin_prefetch(&contexts_[context.newer], 1);
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
