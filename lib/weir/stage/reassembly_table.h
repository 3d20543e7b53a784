// Datagrams in pieces: takes fragments of IPv4 and IPv6 in any order and makes
// chains of their mbufs (RFC 791 §3.2, RFC 815, RFC 8200 §4.5), without copying
// a byte of data. Nothing is allocated after set-up, no bound is ever exceeded,
// and no fragment costs more than a constant, but for the mbufs that are freed,
// each of which was a fragment before.
//
// What is there already is never replaced. A copy of a fragment, equal in
// bounds and bytes, is dropped; any other overlap gives up the datagram (RFC
// 5722, for IPv4 too, which leaves no way to the attacks of RFC 1858 and RFC
// 3128), so no datagram is a mixture. What is given up is remembered until its
// time is up.
//
// Timeouts are constant for each version, so datagrams run out in the order in
// which they began: two lists take the place of a timer wheel, and they are
// exact.

#ifndef WEIR_STAGE_REASSEMBLY_TABLE_H_
#define WEIR_STAGE_REASSEMBLY_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "absl/status/statusor.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/pipeline/stage_stats.h"
#include "weir/stage/abandoned_queue.h"
#include "weir/stage/datagram_index.h"
#include "weir/stage/fragment_data.h"
#include "weir/stage/fragment_run.h"
#include "weir/stage/fragment_set.h"
#include "weir/stage/reassembled.h"
#include "weir/stage/reassembly_context.h"
#include "weir/stage/reassembly_counts.h"
#include "weir/stage/reassembly_fragment.h"
#include "weir/stage/reassembly_memory.h"
#include "weir/stage/reassembly_options.h"
#include "weir/stage/reassembly_sources.h"

namespace weir {

// Owner lcore only.
class ReassemblyTable {
 public:
  enum class Outcome : uint8_t { kPending, kComplete, kDropped };
  struct Result {
    Outcome outcome;
    // Of kDropped: why; the fragment is freed.
    ReassemblyDrop reason;
    // Of kComplete: the datagram, which is the caller's.
    Mbuf* datagram;
  };

  // InvalidArgument for options out of range; otherwise what Arena::Create
  // returns. Control thread, before Launch.
  static absl::StatusOr<ReassemblyTable> Create(
      const ReassemblyOptions& options);

  // What a burst brings, at most.
  struct Arrival {
    uint32_t fragments = 0;
    uint64_t bytes = 0;
  };
  // Whether room has to be looked for.
  enum class Room : uint8_t { kUnknown, kAmple };

  // The steps of adding fragments; apart, so that the memory that a burst of
  // them needs is fetched while others are worked on. The first: says of each
  // of `frames` what it is in `read`, which has one more; of those that are no
  // fragments Fault::kWhole.
  Arrival Read(std::span<Mbuf* const> frames,
               std::span<ReassemblyFragment> read) noexcept;
  // The second: whether there is room for all of them, so that none of their
  // sources can come to its share.
  Room RoomFor(const Arrival& arrival) const noexcept {
    const uint64_t shared = counts_.max_fragments - counts_.fragments_left +
                            counts_.datagrams.remembered.value() +
                            arrival.fragments;
    return arrival.fragments <= counts_.fragments_left &&
                   arrival.bytes <= counts_.bytes_left &&
                   shared <= max_fragments_per_source_
               ? Room::kAmple
               : Room::kUnknown;
  }
  // Then, of each that is a fragment: takes ownership of it at `now`, which is
  // not before that of the call before. Frees into `cache`, whose pool all
  // fragments are from. Counts say it once Publish was called.
  Result Add(Mbuf& fragment, const ReassemblyFragment& read, uint64_t now,
             Room room, MbufCache& cache) noexcept;
  // Whether AddRun may take several, from that with `read` on, at once.
  static bool MayRun(const ReassemblyFragment& read, Room room) noexcept {
    return !read.follows && read.run > 1 && room == Room::kAmple;
  }
  // Takes the first of `frames` that are a run, if it can, and says how many
  // and what came of the last of them; all others are pending.
  struct Run {
    size_t frames;
    Result result;
  };
  Run AddRun(std::span<Mbuf* const> frames, const ReassemblyFragment* read,
             uint64_t now, MbufCache& cache) noexcept;
  void Publish() noexcept { counts_.Publish(); }

  // Forgets the datagrams whose time is up at `now`, the oldest first and
  // `most` of them at most. One whose time is up gets no fragment any more.
  void Expire(uint64_t now, uint32_t most, MbufCache& cache) noexcept;
  // When the time of the next is up; the end of time if there is none.
  uint64_t next_deadline() const noexcept;
  // Forgets all: those whose time is up at `now`, then the others.
  void Close(uint64_t now, MbufCache& cache) noexcept;

  // Frees `datagram`, which was completed here, for a reason of Parse.
  void Reject(Mbuf& datagram, size_t parse_reason, MbufCache& cache) noexcept;

  // Of Options::keeps_abandoned: first fragments of datagrams given up, which
  // are counted as dropped and are the caller's once taken; there must be one.
  bool has_abandoned() const noexcept { return !abandoned_.empty(); }
  AbandonedQueue::Entry TakeAbandoned() noexcept { return abandoned_.Pop(); }
  // Counts a packet that goes on in place of such a fragment, and frees one
  // that cannot, because nothing goes on any more.
  void CountMade() noexcept { counts_.packets.made.Set(++counts_.made); }
  void DropMade(Mbuf& packet, MbufCache& cache) noexcept;

  // Any thread.
  const StageCounts<kReassemblyDrops>& counts() const noexcept {
    return counts_.packets;
  }
  const DatagramCounts& datagrams() const noexcept { return counts_.datagrams; }
  // Bytes of data held; fragments are counts().held.
  uint64_t bytes_held() const noexcept { return counts_.bytes_held.value(); }

 private:
  static constexpr uint32_t kNone = ContextList::kNone;
  using Context = ReassemblyContext;
  // A context, or kNone and why there is none.
  struct Found {
    uint32_t number;
    ReassemblyDrop reason;
  };

  ReassemblyTable(const ReassemblyOptions& options, ReassemblyMemory memory);

  // Whether context `number` is that of `read` and takes fragments.
  bool IsCollecting(uint32_t number, const ReassemblyFragment& read,
                    uint64_t now) const noexcept {
    const Context& context = contexts_[number];
    return context.key == read.key && context.deadline > now &&
           HasAddresses(number, read);
  }
  // The key has a sum of the addresses of IPv6 only.
  bool HasAddresses(uint32_t number,
                    const ReassemblyFragment& read) const noexcept {
    return !read.is_ipv6() ||
           std::memcmp(addresses_[number].data(), read.addresses,
                       sizeof(Ipv6Addresses)) == 0;
  }
  // Of most, which lie behind or in front of all that is there, the whole way.
  Result Insert(uint32_t number, Mbuf& fragment, const ReassemblyFragment& read,
                Room room, MbufCache& cache) noexcept;
  // A fragment was inserted that agrees with the others.
  Result Keep(uint32_t number, const ReassemblyFragment& read,
              MbufCache& cache) noexcept;
  bool HasRoom(const Context& context,
               const ReassemblyFragment& read) const noexcept {
    return counts_.fragments_left != 0 && read.bytes() <= counts_.bytes_left &&
           sources_[context.source].fragments < max_fragments_per_source_;
  }
  void Reserve(const Context& context,
               const ReassemblyFragment& read) noexcept {
    --counts_.fragments_left;
    counts_.bytes_left -= read.bytes();
    ++sources_[context.source].fragments;
  }
  Result Drop(Mbuf& fragment, ReassemblyDrop reason, MbufCache& cache) noexcept;
  // The context of `read`, whatever its state; kNone if there is none.
  uint32_t Find(const ReassemblyFragment& read) const noexcept {
    return index_.Find(read.hash, [&](uint32_t candidate) {
      return contexts_[candidate].HasKey(read.key) &&
             HasAddresses(candidate, read);
    });
  }
  inline uint64_t Approach(std::span<ReassemblyFragment> read) const noexcept;
  void ApproachSources(std::span<const ReassemblyFragment> read) const noexcept;
  Found FindOrOpen(const ReassemblyFragment& read, uint64_t now,
                   MbufCache& cache) noexcept;
  inline uint32_t Open(const ReassemblyFragment& read, uint64_t now,
                       MbufCache& cache) noexcept;
  bool MakeRoom(uint32_t number, uint32_t bytes, ReassemblyDrop& reason,
                MbufCache& cache) noexcept;
  Result InsertWithCare(uint32_t number, Mbuf& fragment,
                        const ReassemblyFragment& read,
                        MbufCache& cache) noexcept;
  Result InsertAmong(uint32_t number, Mbuf& fragment,
                     const FragmentRecord& record,
                     const ReassemblyFragment& read, MbufCache& cache) noexcept;
  Result Meet(uint32_t number, FragmentSet::Insertion met, Mbuf& fragment,
              const ReassemblyFragment& read, MbufCache& cache) noexcept;
  Result Contradict(uint32_t number, const ReassemblyFragment& read,
                    MbufCache& cache) noexcept;
  Result GiveUp(uint32_t number, ReassemblyDrop reason,
                MbufCache& cache) noexcept;
  Result Complete(uint32_t number, MbufCache& cache) noexcept;
  Result Deliver(Mbuf& first, const Reassembled& whole, uint32_t fragments,
                 MbufCache& cache) noexcept;
  inline Result AddWhole(const FragmentRun& run, MbufCache& cache) noexcept;
  Run AddBehind(const FragmentRun& run, uint64_t now,
                MbufCache& cache) noexcept;
  uint32_t Oldest() const noexcept;
  ContextList& AgeOf(const Context& context) noexcept {
    return ages_[context.is_ipv6() ? 1 : 0];
  }
  void FreeFragments(Context& context, ReassemblyDrop reason,
                     MbufCache& cache) noexcept;
  // Makes context `number` free; its fragments are gone or not its own any
  // more.
  void Release(uint32_t number) noexcept;
  void Forget(uint32_t number, ReassemblyDrop reason,
              MbufCache& cache) noexcept;
  void Remember(uint32_t number, ReassemblyDrop reason,
                MbufCache& cache) noexcept;

  std::span<Context> contexts_;
  DatagramIndex index_;
  ReassemblySources sources_;
  std::span<Ipv6Addresses> addresses_;
  FragmentBlocks blocks_;
  AbandonedQueue abandoned_;
  uint32_t free_ = kNone;
  std::array<ContextList, 2> ages_;
  std::array<uint64_t, 2> timeouts_;
  uint32_t max_fragments_per_datagram_;
  uint32_t max_fragments_per_source_;
  ReassemblySeed seed_;
  // The context that got a fragment last.
  uint32_t last_ = 0;
  ReassemblyCounts counts_;
  // Set-up only below.
  ReassemblyMemory memory_;
};

}  // namespace weir

#endif  // WEIR_STAGE_REASSEMBLY_TABLE_H_
