// What can be chosen about reassembly, and why fragments are dropped.

#ifndef WEIR_STAGE_REASSEMBLY_OPTIONS_H_
#define WEIR_STAGE_REASSEMBLY_OPTIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "weir/stage/parse.h"
#include "weir/stage/reassembly_fragment.h"

namespace weir {

enum class ReassemblyDrop : uint8_t {
  // The fragment alone.
  kNotParsed,
  kHeaderChecksum,
  kDuplicate,
  // The datagram, which is remembered until its time is up: what comes of it
  // later is dropped for the same reason.
  kOverlap,
  kEndsDisagree,
  kTooManyFragments,
  // The datagram, which is complete.
  kTooLarge,
  kEcn,
  // The datagram, which is forgotten.
  kTimeout,
  kNoDatagrams,
  kNoFragments,
  kNoBytes,
  kSourceShare,
  kClosed,
  // The fragment alone, which would have been copied.
  kNoMbuf,
  // From here on: what Parse says of the whole datagram, in its order.
  kMalformed,
};

inline constexpr size_t kReassemblyReasons =
    static_cast<size_t>(ReassemblyDrop::kMalformed);
inline constexpr size_t kReassemblyDrops =
    kReassemblyReasons + Parse::kDropNames.size();

// By number.
inline constexpr auto kReassemblyDropNames = [] {
  constexpr std::array<absl::string_view, kReassemblyReasons> kOwn = {
      "not as parse passes it",
      "wrong header checksum",
      "duplicate fragment",
      "overlap",
      "ends disagree",
      "too many fragments",
      "over 65,535 bytes",
      "congestion marks disagree",
      "timeout",
      "no room for datagrams",
      "no room for fragments",
      "no room for bytes",
      "share of the source",
      "incomplete at the end",
      "no mbuf",
  };
  std::array<absl::string_view, kReassemblyDrops> names;
  for (size_t i = 0; i < names.size(); ++i) {
    names[i] = i < kOwn.size() ? kOwn[i] : Parse::kDropNames[i - kOwn.size()];
  }
  return names;
}();

// Which clock runs timeouts.
enum class ReassemblyClock : uint8_t {
  // The lcore's.
  kTsc,
  // The receive times of frames, for captures. It does not run backwards.
  kFrames,
};

struct ReassemblyOptions {
  // Counted from the first fragment that comes. RFC 8200 §4.5 says 60 s; RFC
  // 1122 §3.3.2 as much and more, which is too long for identifications of 16
  // bits at today's rates (RFC 4963): it is 30 s in Linux, too.
  uint64_t ipv4_timeout_ns = 30'000'000'000;
  uint64_t ipv6_timeout_ns = 60'000'000'000;
  ReassemblyClock clock = ReassemblyClock::kTsc;

  // Datagrams that are incomplete or remembered: 1 to 2^20. When they are all
  // in use, the oldest makes room; so it is with fragments and bytes.
  uint32_t max_datagrams = 4096;
  // Of one datagram: 2 to 8191, which is what 65,528 bytes in units of eight
  // can be cut into.
  uint32_t max_fragments_per_datagram = 64;
  // Held in all: from max_fragments_per_datagram to 2^24. Each is an mbuf, by
  // which the pool has to be larger.
  uint32_t max_fragments = 8192;
  // Bytes of data held in all, from 65,535.
  uint64_t max_bytes = uint64_t{16} << 20;
  // Held of one source, a remembered datagram counting as one: from
  // max_fragments_per_datagram to max_fragments, 0 for a quarter of these.
  // The oldest datagram of the source makes room.
  uint32_t max_fragments_per_source = 0;

  // Whether first fragments of datagrams that are given up wait for
  // TakeAbandoned: max_datagrams + 64 of them, beyond the bounds above; those
  // that find no room are freed. ReassembleAnd sets it.
  bool keeps_abandoned = false;

  // Where the memory should be, -1 for anywhere.
  int numa_node = -1;
  // Random when there is none; given by tests that have to be repeatable.
  std::optional<ReassemblySeed> seed = {};
};

// InvalidArgument, with name, value and range of the first option that is out
// of its range. Any thread.
absl::Status CheckReassemblyOptions(const ReassemblyOptions& options);

// Options::max_fragments_per_source, or what 0 stands for. Any thread.
constexpr uint32_t SourceShare(const ReassemblyOptions& options) noexcept {
  if (options.max_fragments_per_source != 0) {
    return options.max_fragments_per_source;
  }
  const uint32_t quarter = options.max_fragments / 4;
  return quarter < options.max_fragments_per_datagram
             ? options.max_fragments_per_datagram
             : quarter;
}

}  // namespace weir

#endif  // WEIR_STAGE_REASSEMBLY_OPTIONS_H_
