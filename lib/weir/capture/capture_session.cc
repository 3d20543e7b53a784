#include "weir/capture/capture_session.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "weir/capture/pcapng_blocks.h"

namespace weir {
namespace {

// A system call for so much.
constexpr size_t kFlushBytes = 256 << 10;

constexpr absl::string_view kAll = "all";

// Whether `wanted` names `where`: a port, or one of its queues.
bool Names(absl::string_view wanted, absl::string_view where) {
  return wanted == kAll || wanted == where ||
         absl::StartsWith(where, absl::StrCat(wanted, " "));
}

// The same with several places, "a, b".
bool NamesAny(absl::string_view wanted, absl::string_view where) {
  const std::vector<absl::string_view> all = absl::StrSplit(where, ", ");
  return std::ranges::any_of(
      all, [wanted](absl::string_view one) { return Names(wanted, one); });
}

// A place within a pipeline.
bool IsStage(const TapPlace& place) { return place.to.empty(); }

uint32_t KindsOf(const CaptureOptions& options, const TapPlace& place) {
  if (options.lcore.has_value() && *options.lcore != place.lcore) return 0;
  const bool begins = Names(options.place, place.from);
  if (options.only_drops) {
    const bool fits = begins && !IsStage(place);
    return fits ? TapPoint::BitOf(TapKind::kDropped) : 0;
  }
  if (IsStage(place)) return begins ? TapPoint::BitOf(TapKind::kPassed) : 0;
  uint32_t kinds = 0;
  if (begins && options.direction != CaptureDirection::kSent) {
    kinds |= TapPoint::BitOf(TapKind::kReceived);
  }
  if (NamesAny(options.place, place.to) &&
      options.direction != CaptureDirection::kReceived) {
    kinds |= TapPoint::BitOf(TapKind::kSent);
  }
  return kinds;
}

absl::Status NothingFits(const CaptureOptions& options,
                         std::span<const TapPlace> places) {
  std::set<std::string> known;
  for (const TapPlace& place : places) {
    known.insert(place.from);
    if (!IsStage(place)) known.insert(place.to);
  }
  return absl::NotFoundError(absl::StrCat(
      "nothing to capture at ", options.place,
      options.lcore.has_value() ? absl::StrCat(" on lcore ", *options.lcore)
                                : "",
      "; there are ", kAll, ", ", absl::StrJoin(known, ", ")));
}

pcapng::Direction DirectionOf(TapKind kind) {
  switch (kind) {
    case TapKind::kReceived:
    case TapKind::kDropped:
      return pcapng::Direction::kInbound;
    case TapKind::kSent:
      return pcapng::Direction::kOutbound;
    case TapKind::kPassed:
      break;
  }
  return pcapng::Direction::kUnknown;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CaptureSession>> CaptureSession::Create(
    uint64_t id, CaptureOptions options, absl::string_view application,
    std::span<const TapPlace> places) {
  std::vector<CaptureChoice> choices;
  std::vector<Interface> interfaces;
  const auto interface_of = [&interfaces](const std::string& name) {
    auto found = std::ranges::find(interfaces, name, &Interface::name);
    if (found == interfaces.end()) {
      interfaces.push_back({.name = name});
      found = interfaces.end() - 1;
    }
    return static_cast<uint32_t>(found - interfaces.begin());
  };
  for (const TapPlace& place : places) {
    CaptureChoice choice{.point = place.point,
                         .kinds = KindsOf(options, place)};
    for (size_t kind = 0; kind < kTapKinds; ++kind) {
      const auto what = static_cast<TapKind>(kind);
      if ((choice.kinds & TapPoint::BitOf(what)) == 0) continue;
      choice.interfaces[kind] =
          interface_of(what == TapKind::kSent ? place.to : place.from);
    }
    if (choice.kinds != 0) choices.push_back(std::move(choice));
  }
  if (choices.empty()) return NothingFits(options, places);
  auto output = CaptureOutput::Create(options.file);
  if (!output.ok()) return output.status();
  std::unique_ptr<CaptureSession> session(
      new CaptureSession(id, std::move(options), *std::move(output)));
  session->choices_ = std::move(choices);
  session->interfaces_ = std::move(interfaces);
  auto& gathered = session->output_.gathered();
  pcapng::AppendSection(application, gathered);
  for (const Interface& each : session->interfaces_) {
    pcapng::AppendInterface(each.name, session->options_.snaplen_bytes,
                            gathered);
  }
  // A disk without room is seen here, before anybody relies on it.
  absl::Status written = session->output_.Flush(0);
  if (!written.ok()) return written;
  session->file_bytes_.Set(session->output_.bytes());
  return session;
}

void CaptureSession::Begin(uint64_t tsc, uint64_t unix_ns) noexcept {
  begin_tsc_ = tsc;
  begin_unix_ns_ = unix_ns;
}

void CaptureSession::Take(const CaptureChoice& choice, const TapRecord& record,
                          std::span<const std::byte> bytes, uint64_t unix_ns) {
  if ((choice.kinds & TapPoint::BitOf(record.kind)) == 0) return;
  if (record.tsc < begin_tsc_ || is_over(unix_ns)) return;
  const uint32_t interface_id =
      choice.interfaces[static_cast<size_t>(record.kind)];
  std::vector<std::byte>& gathered = output_.gathered();
  const size_t before = gathered.size();
  pcapng::AppendPacket(
      {.interface_id = interface_id,
       .unix_ns = record.timestamp_ns != 0 ? record.timestamp_ns : unix_ns,
       .bytes =
           bytes.first(std::min<size_t>(bytes.size(), options_.snaplen_bytes)),
       .frame_bytes = record.frame_bytes,
       .direction = DirectionOf(record.kind),
       .comment = record.kind != TapKind::kDropped
                      ? std::string()
                      : absl::StrCat("dropped by ", record.stage, ": ",
                                     record.reason)},
      gathered);
  if (options_.max_file_bytes != 0 &&
      output_.bytes() > options_.max_file_bytes) {
    gathered.resize(before);
    is_full_ = true;
    return;
  }
  packets_.Add(1);
  ++interfaces_[interface_id].delivered;
  is_full_ = packets_.value() == options_.max_packets;
  Flush(kFlushBytes);
}

void CaptureSession::Write() { Flush(0); }

void CaptureSession::Flush(size_t least) {
  if (!error_.ok()) return;
  error_ = output_.Flush(least);
  file_bytes_.Set(output_.bytes());
}

bool CaptureSession::is_over(uint64_t unix_ns) const noexcept {
  if (is_full_ || !error_.ok()) return true;
  const auto max_ns = static_cast<uint64_t>(options_.max_time.count());
  return max_ns != 0 && unix_ns > begin_unix_ns_ &&
         unix_ns - begin_unix_ns_ >= max_ns;
}

void CaptureSession::Finish(
    std::span<const std::array<uint64_t, kTapKinds>> lost, uint64_t unix_ns) {
  for (size_t i = 0; i < choices_.size(); ++i) {
    for (size_t kind = 0; kind < kTapKinds; ++kind) {
      interfaces_[choices_[i].interfaces[kind]].lost += lost[i][kind];
    }
  }
  for (uint32_t i = 0; i < interfaces_.size(); ++i) {
    const Interface& each = interfaces_[i];
    pcapng::AppendStatistics({.interface_id = i,
                              .begin_unix_ns = begin_unix_ns_,
                              .end_unix_ns = unix_ns,
                              .seen = each.delivered + each.lost,
                              .lost = each.lost,
                              .delivered = each.delivered},
                             output_.gathered());
  }
  Flush(0);
}

}  // namespace weir
