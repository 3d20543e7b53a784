// What reassembly knows of one datagram, two cache lines, and the lists that
// such contexts are in.

#ifndef WEIR_STAGE_REASSEMBLY_CONTEXT_H_
#define WEIR_STAGE_REASSEMBLY_CONTEXT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/base/cache_line.h"
#include "weir/stage/fragment_set.h"
#include "weir/stage/reassembly_fragment.h"
#include "weir/stage/reassembly_options.h"

namespace weir {

struct alignas(kCacheLine) ReassemblyContext {
  static constexpr uint32_t kUnknown = ~uint32_t{0};

  enum class State : uint8_t {
    kFree,
    kCollecting,
    // Given up; its fragments are gone and so will be those to come.
    kRemembered,
  };

  DatagramKey key;
  uint64_t deadline;
  // Where the index has it: under which hash, at which place.
  uint32_t hash;
  uint32_t place;
  // The number of the source, of ReassemblySources.
  uint32_t source;
  // Bytes of data held, and of the whole datagram once its end is known.
  uint32_t bytes;
  uint32_t total;
  // Neighbours among the datagrams of the version, and of the source.
  uint32_t older;
  uint32_t newer;
  uint32_t source_older;
  uint32_t source_newer;
  State state;
  // Why it was given up.
  ReassemblyDrop reason;
  // A bit for each value of the ECN field that came.
  uint8_t ecn_seen;
  // Not all fragments are plain mbufs.
  bool has_chains;
  // A line of its own.
  FragmentSet fragments;

  bool is_ipv6() const noexcept { return key.is_ipv6(); }

  // Makes the key one that no fragment has: none finds its way here at once.
  void CloseKey() noexcept { key.rest |= kClosedKey; }
  bool HasKey(const DatagramKey& of) const noexcept {
    return key.addresses == of.addresses && (key.rest & ~kClosedKey) == of.rest;
  }

  static constexpr uint64_t kClosedKey =
      DatagramKey::Rest(0, DatagramKey::kClosed);
};
static_assert(sizeof(ReassemblyContext) == 2 * kCacheLine);
static_assert(offsetof(ReassemblyContext, fragments) == kCacheLine);

// The ends of a list of contexts, oldest first.
struct ContextList {
  static constexpr uint32_t kNone = ~uint32_t{0};

  uint32_t oldest = kNone;
  uint32_t newest = kNone;

  // Adds `number` at the newest end; `older` and `newer` are the links to use.
  template <uint32_t ReassemblyContext::*older,
            uint32_t ReassemblyContext::*newer>
  void Add(std::span<ReassemblyContext> contexts, uint32_t number) noexcept {
    contexts[number].*older = newest;
    contexts[number].*newer = kNone;
    (newest == kNone ? oldest : contexts[newest].*newer) = number;
    newest = number;
  }

  // Takes `number` out, wherever it stands.
  template <uint32_t ReassemblyContext::*older,
            uint32_t ReassemblyContext::*newer>
  void Remove(std::span<ReassemblyContext> contexts, uint32_t number) noexcept {
    const uint32_t before = contexts[number].*older;
    const uint32_t behind = contexts[number].*newer;
    (before == kNone ? oldest : contexts[before].*newer) = behind;
    (behind == kNone ? newest : contexts[behind].*older) = before;
  }
};

// Both addresses of an IPv6 datagram.
using Ipv6Addresses = std::array<std::byte, 32>;

}  // namespace weir

#endif  // WEIR_STAGE_REASSEMBLY_CONTEXT_H_
