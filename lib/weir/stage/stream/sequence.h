// The stage that follows streams by the numbers in their datagrams: what was
// lost, came late or twice, how long it took; and of streams that come on two
// lines lets each number pass once.
//
//   A: 1 2   4 5 6 ──┐
//                     ├── 1 2 3 4 5 6     the first of each, as it comes
//   B:  1 2 3   5 6 ──┘
//
// Nothing is held back: what one line lost passes when the other brings it, so
// numbers leave in the order in which they came first.

#ifndef WEIR_STAGE_STREAM_SEQUENCE_H_
#define WEIR_STAGE_STREAM_SEQUENCE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/base/counter.h"
#include "weir/mbuf/mbuf.h"
#include "weir/net/ip_text.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/stage.h"
#include "weir/stage/stream/latency_histogram.h"
#include "weir/stage/stream/line_pair.h"
#include "weir/stage/stream/sequence_counts.h"
#include "weir/stage/stream/stream_state.h"
#include "weir/stage/stream/stream_table.h"
#include "weir/stage/stream/udp_datagram.h"

namespace weir {

// What the numbers are.
enum class SequenceKind : uint8_t {
  // SequenceStamp (udp/sequence_stamp.h).
  kWeir,
  // RTP; a stream for each SSRC.
  kRtp,
};

// Two groups on which the same numbers come.
struct LinePair {
  std::array<net::IpAddress, 2> groups;
};

struct SequenceOptions {
  SequenceKind kind = SequenceKind::kWeir;
  std::vector<LinePair> pairs = {};
  // Streams that are followed at a time: a power of two from 8 on. One that was
  // silent for a minute makes room for another.
  size_t max_streams = 1024;
  // Of RTP timestamps, for jitter: 90 kHz is that of video (RFC 3551 §5).
  uint32_t rtp_clock_hz = 90000;
};

// A stream at one moment.
struct StreamReport {
  StreamName name;
  SequenceTotals totals;
  // Of RTP.
  uint64_t jitter_ns = 0;
};

// A stream of a pair.
struct LinePairReport {
  size_t pair = 0;
  // The SSRC of RTP.
  uint32_t id = 0;
  SequenceTotals merged;
  std::array<SequenceTotals, 2> lines;
  std::array<uint64_t, 2> first;

  // Numbers that only the other line brought.
  uint64_t filled_on(size_t line) const {
    return merged.received - std::min(merged.received, lines[line].received);
  }
};

// What the stage counts, for any thread while it runs and after.
class SequenceStats {
 public:
  explicit SequenceStats(const SequenceOptions& options);

  std::vector<StreamReport> Streams() const;
  std::vector<LinePairReport> Pairs() const;
  // Of streams that made room for others.
  SequenceTotals retired() const noexcept { return retired_.totals(); }
  // Of datagrams with SequenceStamp that passed: from when they were sent to
  // when the device, or else this lcore, received them.
  LatencySnapshot Latency() const { return latency_.Snapshot(); }
  // Datagrams without a number; those of streams that there was no room for.
  uint64_t unnumbered() const noexcept { return unnumbered_.value(); }
  uint64_t no_room() const noexcept {
    return streams_.no_room() + pairs_.no_room();
  }

 private:
  friend class Sequence;

  StreamTable<StreamState> streams_;
  StreamTable<LinePairState> pairs_;
  SequenceCounts retired_;
  LatencyHistogram latency_;
  Counter unnumbered_;
};

// Behind Parse, Reassemble and what checks checksums; passes what is not UDP or
// has no number. Owner lcore only.
class Sequence {
 public:
  enum class Drop : uint8_t { kCameBefore, kTooLate };
  static constexpr absl::string_view kName = "sequence";
  static constexpr std::array<absl::string_view, 2> kDropNames = {"came before",
                                                                  "too late"};

  // InvalidArgument for a group that is on two lines, a `max_streams` that is
  // none or a clock of 0. Control thread.
  static absl::StatusOr<Sequence> Create(const SequenceOptions& options);

  Verdict OnPacket(Mbuf& mbuf, Lcore& lcore) noexcept;

  std::shared_ptr<const SequenceStats> stats() const noexcept { return stats_; }

 private:
  // One line: a group, which pair and which of its two it is.
  struct Line {
    std::array<uint64_t, 2> group;
    uint32_t pair;
    uint32_t line;

    friend bool operator<(const Line& a, const Line& b) noexcept {
      return a.group < b.group;
    }
  };

  Sequence(const SequenceOptions& options, std::vector<Line> lines);

  Verdict OnLine(const Line& line, uint32_t id, const DatagramStamp& stamp,
                 Mbuf& mbuf, Lcore& lcore) noexcept;
  const Line* LineOf(const StreamKey& key) const noexcept;
  void NoteLatency(const DatagramStamp& stamp, const Mbuf& mbuf,
                   Lcore& lcore) noexcept;
  uint64_t ReceivedNs(const Mbuf& mbuf, Lcore& lcore) noexcept;

  SequenceKind kind_;
  double ns_per_tick_;
  std::shared_ptr<SequenceStats> stats_;
  // By group.
  std::vector<Line> lines_;
  // The time of day of this poll.
  uint64_t clock_tsc_ = UINT64_MAX;
  uint64_t clock_ns_ = 0;
};

static_assert(PacketStage<Sequence>);

}  // namespace weir

#endif  // WEIR_STAGE_STREAM_SEQUENCE_H_
