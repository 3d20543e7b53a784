#include "weir/stage/stream/sequence.h"

#include <bit>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "weir/base/tsc_clock.h"
#include "weir/net/rtp.h"
#include "weir/stage/udp/sequence_stamp.h"

namespace weir {
namespace {

// A sender that began anew without saying so is noticed after a second; a
// stream that was silent for a minute is over.
constexpr uint64_t kQuietSeconds = 1;
constexpr uint64_t kIdleSeconds = 60;

// RTP does not say that it began anew: on one line two numbers in a row are
// enough, as RFC 3550 A.1 has it. On two lines those may be of the slower one.
uint64_t LineQuietTsc(SequenceKind kind) {
  return kind == SequenceKind::kRtp ? 0 : kQuietSeconds * TscHz();
}

uint64_t WallNs() noexcept {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

struct NumberedDatagram {
  DatagramStamp stamp;
  // The SSRC of RTP.
  uint32_t id = 0;
};

std::optional<NumberedDatagram> ReadNumber(const UdpDatagram& datagram,
                                           SequenceKind kind) noexcept {
  if (kind == SequenceKind::kRtp) {
    const auto rtp = datagram.Front<net::RtpHeader>();
    if (!rtp || !rtp->is_data()) return std::nullopt;
    return NumberedDatagram{.stamp = {.number = rtp->sequence.host(),
                                      .time = rtp->timestamp.host(),
                                      .is_rtp = true},
                            .id = rtp->ssrc.host()};
  }
  const auto stamp = datagram.Front<SequenceStamp>();
  if (!stamp || stamp->magic != Be32(kSequenceMagic) ||
      stamp->version != Be32(kSequenceVersion)) {
    return std::nullopt;
  }
  return NumberedDatagram{
      .stamp = {.number = stamp->number.host(), .time = stamp->sent_ns.host()}};
}

}  // namespace

SequenceStats::SequenceStats(const SequenceOptions& options)
    : streams_(options.max_streams, kIdleSeconds * TscHz(),
               StreamState(LineQuietTsc(options.kind))),
      pairs_(
          options.max_streams, kIdleSeconds * TscHz(),
          LinePairState(LineQuietTsc(options.kind), kQuietSeconds * TscHz())) {}

std::vector<StreamReport> SequenceStats::Streams() const {
  std::vector<StreamReport> all;
  streams_.ForEach([&](const StreamKey& key, const StreamState& state) {
    all.push_back({.name = NameOfStream(key),
                   .totals = state.totals(),
                   .jitter_ns = state.jitter().ns()});
  });
  return all;
}

std::vector<LinePairReport> SequenceStats::Pairs() const {
  std::vector<LinePairReport> all;
  pairs_.ForEach([&](const StreamKey& key, const LinePairState& state) {
    all.push_back({.pair = static_cast<size_t>(key.words[0]),
                   .id = static_cast<uint32_t>(key.words[4]),
                   .merged = state.merged(),
                   .lines = {state.line(0), state.line(1)},
                   .first = {state.first_on(0), state.first_on(1)}});
  });
  return all;
}

absl::StatusOr<Sequence> Sequence::Create(const SequenceOptions& options) {
  if (!std::has_single_bit(options.max_streams) || options.max_streams < 8) {
    return absl::InvalidArgumentError(absl::StrCat(
        "streams: want a power of two, 8 at least, got ", options.max_streams));
  }
  if (options.rtp_clock_hz == 0) {
    return absl::InvalidArgumentError("RTP clock: want 1 Hz at least, got 0");
  }
  std::vector<Line> lines;
  for (uint32_t pair = 0; pair < options.pairs.size(); ++pair) {
    for (uint32_t line = 0; line < 2; ++line) {
      const StreamKey key = MakeStreamKey(
          net::Ipv4Address{}, options.pairs[pair].groups[line], 0, 0, 0);
      lines.push_back({{key.words[2], key.words[3]}, pair, line});
    }
  }
  std::sort(lines.begin(), lines.end());
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].group == lines[i - 1].group) {
      return absl::InvalidArgumentError(absl::StrCat(
          net::ToString(options.pairs[lines[i].pair].groups[lines[i].line]),
          ": want each group on one line, it is on two"));
    }
  }
  return Sequence(options, std::move(lines));
}

Sequence::Sequence(const SequenceOptions& options, std::vector<Line> lines)
    : kind_(options.kind),
      ns_per_tick_(1e9 / options.rtp_clock_hz),
      stats_(std::make_shared<SequenceStats>(options)),
      lines_(std::move(lines)) {}

Verdict Sequence::OnPacket(Mbuf& mbuf, Lcore& lcore) noexcept {
  const auto datagram = UdpDatagram::Of(mbuf);
  if (!datagram) return Verdict::Pass();
  const auto numbered = ReadNumber(*datagram, kind_);
  if (!numbered) {
    stats_->unnumbered_.Add(1);
    return Verdict::Pass();
  }
  const DatagramStamp& stamp = numbered->stamp;
  if (!lines_.empty()) {
    if (const Line* line = LineOf(datagram->key())) {
      return OnLine(*line, numbered->id, stamp, mbuf, lcore);
    }
  }
  StreamKey key = datagram->key();
  key.words[4] |= numbered->id;
  StreamState* const stream = stats_->streams_.Find(
      key, lcore.now_tsc(),
      [this](const StreamState& gone) { stats_->retired_.Add(gone.totals()); });
  if (stream != nullptr) {
    stream->Note(stamp, lcore.now_tsc());
    if (stamp.is_rtp) {
      stream->jitter().Note(static_cast<uint32_t>(stamp.time),
                            ReceivedNs(mbuf, lcore), ns_per_tick_);
    }
  }
  NoteLatency(stamp, mbuf, lcore);
  return Verdict::Pass();
}

Verdict Sequence::OnLine(const Line& line, uint32_t id,
                         const DatagramStamp& stamp, Mbuf& mbuf,
                         Lcore& lcore) noexcept {
  const StreamKey key{.words = {line.pair, 0, 0, 0, id}};
  LinePairState* const pair = stats_->pairs_.Find(
      key, lcore.now_tsc(), [this](const LinePairState& gone) {
        stats_->retired_.Add(gone.merged());
      });
  // Rather twice than not at all.
  if (pair == nullptr) return Verdict::Pass();
  switch (pair->Note(line.line, stamp, lcore.now_tsc())) {
    case Arrival::kDuplicate:
      return Verdict::Drop(Drop::kCameBefore);
    case Arrival::kTooOld:
      return Verdict::Drop(Drop::kTooLate);
    case Arrival::kNew:
    case Arrival::kLate:
      break;
  }
  NoteLatency(stamp, mbuf, lcore);
  return Verdict::Pass();
}

const Sequence::Line* Sequence::LineOf(const StreamKey& key) const noexcept {
  const std::array<uint64_t, 2> group = {key.words[2], key.words[3]};
  const auto found = std::lower_bound(
      lines_.begin(), lines_.end(), group,
      [](const Line& line, const auto& wanted) { return line.group < wanted; });
  return found != lines_.end() && found->group == group ? &*found : nullptr;
}

void Sequence::NoteLatency(const DatagramStamp& stamp, const Mbuf& mbuf,
                           Lcore& lcore) noexcept {
  if (stamp.is_rtp) return;
  stats_->latency_.Record(
      static_cast<int64_t>(ReceivedNs(mbuf, lcore) - stamp.time));
}

uint64_t Sequence::ReceivedNs(const Mbuf& mbuf, Lcore& lcore) noexcept {
  if (mbuf.timestamp_ns() != 0) return mbuf.timestamp_ns();
  if (clock_tsc_ != lcore.now_tsc()) {
    clock_tsc_ = lcore.now_tsc();
    clock_ns_ = WallNs();
  }
  return clock_ns_;
}

}  // namespace weir
