#include "weir/capture/capture_hub.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"
#include "weir/base/tsc_clock.h"

namespace weir {
namespace {

// Between two looks at the rings: what an lcore at full speed writes meanwhile
// fits.
constexpr std::chrono::milliseconds kRoundTime(1);
constexpr uint64_t kNsPerSecond = 1'000'000'000;

// Both clocks at one moment, to tell the time of what was seen shortly before.
struct Moment {
  uint64_t tsc = ReadTsc();
  uint64_t unix_ns = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count());

  uint64_t UnixNs(uint64_t at_tsc) const {
    // Of another processor's clock it may be a little in the future.
    const uint64_t ago = tsc > at_tsc ? tsc - at_tsc : 0;
    const uint64_t hz = TscHz();
    return unix_ns - (ago / hz * kNsPerSecond + ago % hz * kNsPerSecond / hz);
  }
};

// A record where it lies in its ring.
struct Seen {
  TapRecord record;
  std::span<const std::byte> bytes;
  const TapPoint* point;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CaptureHub>> CaptureHub::Create(
    std::string application, std::vector<TapPlace> places, size_t ring_bytes) {
  UniqueFd failure_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!failure_fd.is_open()) {
    return ErrnoStatus(errno, {.object = "captures", .call = "eventfd"});
  }
  // Measured now, not by the thread when the first packets wait.
  TscHz();
  return std::unique_ptr<CaptureHub>(
      new CaptureHub(std::move(application), std::move(places), ring_bytes,
                     std::move(failure_fd)));
}

CaptureHub::CaptureHub(std::string application, std::vector<TapPlace> places,
                       size_t ring_bytes, UniqueFd failure_fd)
    : application_(std::move(application)),
      places_(std::move(places)),
      ring_bytes_(ring_bytes),
      failure_fd_(std::move(failure_fd)) {}

CaptureHub::~CaptureHub() { StopAll(); }

absl::StatusOr<uint64_t> CaptureHub::Start(CaptureOptions options) {
  if (options.snaplen_bytes == 0 ||
      options.snaplen_bytes > CaptureOptions::kMaxSnaplenBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("snaplen: want 1 to ", CaptureOptions::kMaxSnaplenBytes,
                     ", got ", options.snaplen_bytes));
  }
  absl::Status ready = StartThread();
  if (ready.ok()) ready = CheckRoom();
  if (!ready.ok()) return ready;
  const uint64_t id = last_id_ + 1;
  auto session =
      CaptureSession::Create(id, std::move(options), application_, places_);
  if (!session.ok()) return session.status();
  const std::lock_guard hold(lock_);
  last_id_ = id;
  for (CaptureChoice& choice : (*session)->choices()) {
    Watched& watched = watched_[choice.point.get()];
    if (watched.ring == nullptr) {
      watched = {choice.point, std::make_shared<TapRing>(ring_bytes_)};
    }
    std::ranges::transform(watched.ring->lost(), choice.lost_before.begin(),
                           &Counter::value);
  }
  const Moment now;
  (*session)->Begin(now.tsc, now.unix_ns);
  running_[id] = {.session = *std::move(session)};
  UpdateTaps();
  changed_.notify_all();
  return id;
}

absl::Status CaptureHub::CheckRoom() const {
  const std::lock_guard hold(lock_);
  if (running_.size() < kMaxRunning) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      kMaxRunning, " captures run already; stop one before the next"));
}

absl::Status CaptureHub::Stop(uint64_t id) {
  const std::lock_guard hold(lock_);
  const auto found = running_.find(id);
  if (found == running_.end() || found->second.is_ending) {
    std::string known;
    for (const auto& [other, running] : running_) {
      if (running.is_ending) continue;
      absl::StrAppend(&known, known.empty() ? "; there are " : ", ", other);
    }
    return absl::NotFoundError(absl::StrCat("no capture ", id, " runs", known));
  }
  found->second.is_ending = true;
  UpdateTaps();
  changed_.notify_all();
  return absl::OkStatus();
}

std::vector<CaptureStatus> CaptureHub::List() const {
  const std::lock_guard hold(lock_);
  std::vector<CaptureStatus> all(ended_.begin(), ended_.end());
  for (const auto& [id, running] : running_) all.push_back(StatusOf(running));
  std::ranges::sort(all, {}, &CaptureStatus::id);
  return all;
}

void CaptureHub::StopAll() {
  {
    const std::lock_guard hold(lock_);
    for (auto& [id, running] : running_) running.is_ending = true;
    UpdateTaps();
    is_quitting_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  is_quitting_ = false;
}

std::vector<std::string> CaptureHub::TakeFailures() {
  eventfd_t count;
  eventfd_read(failure_fd_.get(), &count);
  const std::lock_guard hold(lock_);
  return std::exchange(failures_, {});
}

absl::Status CaptureHub::StartThread() {
  if (thread_.joinable()) return absl::OkStatus();
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error& error) {
    return ErrnoStatus(error.code().value(),
                       {.object = "captures",
                        .call = "pthread_create",
                        .remedy = "raise the limit of processes (ulimit -u)"});
  }
  return absl::OkStatus();
}

void CaptureHub::Run() {
  std::unique_lock hold(lock_);
  for (;;) {
    changed_.wait(hold, [this] { return is_quitting_ || !running_.empty(); });
    if (running_.empty()) return;
    const Round round = BeginRound();
    hold.unlock();
    Drain(round);
    for (size_t i = 0; i < round.sessions.size(); ++i) {
      CaptureSession& session = *round.sessions[i];
      session.Write();
      if (round.endings[i] || session.is_over(Moment().unix_ns)) End(session);
    }
    hold.lock();
    const bool is_ending = std::ranges::any_of(
        running_, [](const auto& each) { return each.second.is_ending; });
    if (!is_ending) changed_.wait_for(hold, kRoundTime);
  }
}

CaptureHub::Round CaptureHub::BeginRound() const {
  Round round;
  for (const auto& [id, running] : running_) {
    round.sessions.push_back(running.session.get());
    round.endings.push_back(running.is_ending);
  }
  for (const auto& [point, watched] : watched_) {
    round.watched.push_back(watched);
  }
  return round;
}

// All that the rings have, in the order of time.
void CaptureHub::Drain(const Round& round) {
  std::vector<Seen> all;
  const Moment now;
  for (const Watched& watched : round.watched) {
    watched.ring->reader().Take(
        std::numeric_limits<size_t>::max(),
        [&](std::span<const std::byte> bytes, uint32_t) {
          Seen seen{.record = {},
                    .bytes = bytes.subspan(sizeof(TapRecord)),
                    .point = watched.point.get()};
          std::memcpy(&seen.record, bytes.data(), sizeof(TapRecord));
          all.push_back(seen);
        });
  }
  std::ranges::stable_sort(all, {},
                           [](const Seen& seen) { return seen.record.tsc; });
  for (const Seen& seen : all) {
    const uint64_t unix_ns = now.UnixNs(seen.record.tsc);
    for (CaptureSession* session : round.sessions) {
      for (const CaptureChoice& choice : session->choices()) {
        if (choice.point.get() != seen.point) continue;
        session->Take(choice, seen.record, seen.bytes, unix_ns);
      }
    }
  }
  for (const Watched& watched : round.watched) {
    watched.ring->reader().ReleaseTaken();
  }
}

void CaptureHub::End(CaptureSession& session) {
  std::vector<std::array<uint64_t, kTapKinds>> lost;
  {
    const std::lock_guard hold(lock_);
    running_.at(session.id()).is_ending = true;
    UpdateTaps();
    lost = LostOf(session);
  }
  session.Finish(lost, Moment().unix_ns);
  const std::lock_guard hold(lock_);
  const auto found = running_.find(session.id());
  CaptureStatus status = StatusOf(found->second);
  status.state = CaptureStatus::State::kEnded;
  if (!session.error().ok()) {
    status.error = std::string(session.error().message());
    failures_.push_back(absl::StrCat("capture ", status.id, " ended after ",
                                     status.packets,
                                     " packets: ", status.error));
    eventfd_write(failure_fd_.get(), 1);
  }
  ended_.push_back(std::move(status));
  if (ended_.size() > kMaxEnded) ended_.pop_front();
  running_.erase(found);
  UpdateTaps();
}

std::vector<std::array<uint64_t, kTapKinds>> CaptureHub::LostOf(
    CaptureSession& session) const {
  std::vector<std::array<uint64_t, kTapKinds>> all;
  for (const CaptureChoice& choice : session.choices()) {
    std::array<uint64_t, kTapKinds>& lost = all.emplace_back();
    for (size_t kind = 0; kind < kTapKinds; ++kind) {
      if ((choice.kinds & TapPoint::BitOf(static_cast<TapKind>(kind))) == 0) {
        continue;
      }
      lost[kind] = watched_.at(choice.point.get()).ring->lost()[kind].value() -
                   choice.lost_before[kind];
    }
  }
  return all;
}

// Turns taps on and off as the captures that are not ending want, and gives up
// rings that none of them uses.
void CaptureHub::UpdateTaps() {
  for (auto it = watched_.begin(); it != watched_.end();) {
    uint32_t kinds = 0;
    uint32_t snaplen_bytes = 0;
    bool is_used = false;
    for (const auto& [id, running] : running_) {
      for (const CaptureChoice& choice : running.session->choices()) {
        if (choice.point.get() != it->first) continue;
        is_used = true;
        if (running.is_ending) continue;
        kinds |= choice.kinds;
        snaplen_bytes =
            std::max(snaplen_bytes, running.session->options().snaplen_bytes);
      }
    }
    if (kinds == 0) {
      it->second.point->TurnOff();
    } else {
      it->second.point->TurnOn(kinds, snaplen_bytes, it->second.ring);
    }
    it = is_used ? std::next(it) : watched_.erase(it);
  }
}

CaptureStatus CaptureHub::StatusOf(const Running& running) const {
  CaptureSession& session = *running.session;
  uint64_t lost = 0;
  for (const auto& kinds : LostOf(session)) {
    for (const uint64_t count : kinds) lost += count;
  }
  return {.id = session.id(),
          .state = running.is_ending ? CaptureStatus::State::kEnding
                                     : CaptureStatus::State::kRunning,
          .place = session.options().place,
          .file = session.options().file,
          .packets = session.packets(),
          .file_bytes = session.file_bytes(),
          .lost = lost,
          .error = {}};
}

}  // namespace weir
