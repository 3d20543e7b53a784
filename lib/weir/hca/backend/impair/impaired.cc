#include "weir/hca/backend/impair/impaired.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "weir/base/errno_status.h"

namespace weir::hca {
namespace {

using Direction = ImpairmentModel::Direction;
using Side = Impairment::Side;

constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr size_t kBurst = 64;
// How often in one call the medium is asked for more.
constexpr int kMaxRounds = 8;
// When to try again what the medium had no room for.
constexpr uint64_t kRetryNs = 1'000'000;
// For how long a medium that is full may hold up the end, and how often it is
// asked.
constexpr std::chrono::milliseconds kPatience{100};
constexpr std::chrono::microseconds kPause{50};

constexpr std::array<absl::string_view, 2 * ImpairedPath::kCounts> kNames = {
    "rx_lost",      "rx_duplicated", "rx_reordered", "rx_corrupted",
    "rx_delayed",   "rx_waiting",    "tx_lost",      "tx_duplicated",
    "tx_reordered", "tx_corrupted",  "tx_delayed",   "tx_waiting"};

// What is left of `impairment` for frames that go the way of `side`.
Impairment ForSide(Impairment impairment, Side side) {
  if (impairment.side == Side::kBoth || impairment.side == side) {
    return impairment;
  }
  return Impairment{.seed = impairment.seed};
}

ImpairedPath::Medium MediumOf(const Backend& inner) {
  return inner.wake_fd() >= 0 ? ImpairedPath::Medium::kLive
                              : ImpairedPath::Medium::kAtRest;
}

void Watch(int epoll_fd, int fd, uint32_t events) noexcept {
  epoll_event event{};
  event.events = events;
  if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0) {
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
  }
}

// At once if `at_ns` has passed.
void SetTimer(int fd, uint64_t at_ns) noexcept {
  itimerspec when{};
  // Zero would take the timer back.
  at_ns = std::max<uint64_t>(at_ns, 1);
  when.it_value.tv_sec = static_cast<time_t>(at_ns / kNsPerSecond);
  when.it_value.tv_nsec = static_cast<long>(at_ns % kNsPerSecond);
  timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, nullptr);
}

void ClearTimer(int fd) noexcept {
  uint64_t expirations = 0;
  // Fails if it has not run out, which is as good.
  [[maybe_unused]] const ssize_t got = read(fd, &expirations, 8);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Impaired>> Impaired::Create(
    std::unique_ptr<Backend>&& inner, const Impairment& impairment,
    absl::string_view object) {
  Wakers wakers;
  wakers.epoll = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  if (!wakers.epoll.is_open()) {
    return ErrnoStatus(errno, {.object = object, .call = "epoll_create1"});
  }
  for (UniqueFd* timer : {&wakers.receive_timer, &wakers.send_timer}) {
    *timer =
        UniqueFd(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    if (!timer->is_open()) {
      return ErrnoStatus(errno, {.object = object, .call = "timerfd_create"});
    }
    Watch(wakers.epoll.get(), timer->get(), EPOLLIN);
  }
  return std::unique_ptr<Impaired>(
      new Impaired(inner, impairment, std::move(wakers)));
}

// Takes `inner` only when all else is there, for memory may run out.
Impaired::Impaired(std::unique_ptr<Backend>& inner,
                   const Impairment& impairment, Wakers wakers)
    : receive_(ForSide(impairment, Side::kReceive), Direction::kReceive,
               MediumOf(*inner)),
      receive_timer_(std::move(wakers.receive_timer)),
      send_(ForSide(impairment, Side::kSend), Direction::kSend,
            MediumOf(*inner)),
      send_timer_(std::move(wakers.send_timer)),
      gathered_(std::make_unique_for_overwrite<std::byte[]>(
          FrameQueue::kMaxFrameBytes)),
      wake_(std::move(wakers.epoll)),
      info_(inner->info()),
      finished_(inner->finished()) {
  info_.holds_sends = true;
  counters_.assign(inner->counters().begin(), inner->counters().end());
  for (const absl::string_view name : kNames) {
    counters_.push_back({.name = name, .value = {}});
  }
  inner_ = std::move(inner);
}

Impaired::~Impaired() {
  send_.ReleaseAll(0);
  SendDue(UINT64_MAX);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!send_.empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kPause);
    inner_->Flush();
    SendDue(UINT64_MAX);
  }
}

void Impaired::Change(const Impairment& impairment) noexcept {
  receive_.Change(ForSide(impairment, Side::kReceive));
  send_.Change(ForSide(impairment, Side::kSend));
}

size_t Impaired::Transmit(std::span<const TxFrame> frames) noexcept {
  const uint64_t now_ns = send_.Now();
  send_.ReleaseOverdue(now_ns);
  size_t taken = 0;
  for (;;) {
    const size_t before = taken;
    while (taken < frames.size() && send_.Take(Gather(frames[taken]), now_ns)) {
      ++taken;
    }
    SendDue(now_ns);
    if (taken == frames.size() || taken == before) break;
  }
  ArmSendTimer(now_ns);
  send_.CountWaiting();
  return taken;
}

bool Impaired::Flush() noexcept {
  const uint64_t now_ns = send_.Now();
  send_.ReleaseOverdue(now_ns);
  SendDue(now_ns);
  ArmSendTimer(now_ns);
  send_.CountWaiting();
  const bool inner_has_more = inner_->Flush();
  return inner_has_more || !send_.out().empty() || send_.NextDue().has_value();
}

// The frame in one piece, until the next call.
const RxFrame& Impaired::Gather(const TxFrame& frame) noexcept {
  std::byte* to = gathered_.get();
  for (const iovec& segment : frame.segments) {
    if (segment.iov_len == 0) continue;
    std::memcpy(to, segment.iov_base, segment.iov_len);
    to += segment.iov_len;
  }
  gathered_frame_ = {.data = gathered_.get(),
                     .length_bytes = frame.length_bytes,
                     .flags = frame.flags};
  return gathered_frame_;
}

void Impaired::SendDue(uint64_t now_ns) noexcept {
  FrameQueue& out = send_.out();
  for (;;) {
    const size_t due = send_.Due(now_ns, kBurst);
    if (due == 0) return;
    std::array<iovec, kBurst> segments;
    std::array<TxFrame, kBurst> frames;
    for (size_t i = 0; i < due; ++i) {
      const RxFrame& frame = out.frame(i);
      segments[i] = {out.bytes(i), frame.length_bytes};
      frames[i] = {.segments = {&segments[i], 1},
                   .length_bytes = frame.length_bytes,
                   .flags = frame.flags};
    }
    const size_t sent = inner_->Transmit(std::span(frames).first(due));
    out.Pop(sent);
    if (sent < due) return;
  }
}

// For sleepers: those that poll come by anyway.
void Impaired::ArmSendTimer(uint64_t now_ns) noexcept {
  const std::optional<uint64_t> next = send_.NextDue();
  if (!next.has_value()) return;
  const uint64_t at_ns = *next > now_ns ? *next : now_ns + kRetryNs;
  // One that goes off too early is set again by the Flush that it brings about.
  if (send_timer_at_ns_ > now_ns && send_timer_at_ns_ <= at_ns) return;
  send_timer_at_ns_ = at_ns;
  SetTimer(send_timer_.get(), at_ns);
}

std::span<const RxFrame> Impaired::Receive(size_t max) noexcept {
  if (shown_ == consumed_) {
    shown_ = consumed_ = 0;
    Pull();
    shown_ = receive_.Due(receive_.Now(), window_.size());
    for (size_t i = 0; i < shown_; ++i) window_[i] = receive_.out().frame(i);
  }
  return std::span<const RxFrame>(window_).subspan(
      consumed_, std::min(max, shown_ - consumed_));
}

void Impaired::Consume(size_t count) noexcept {
  consumed_ += count;
  receive_.out().Pop(count);
  NoteEnd();
}

// Moves what has arrived onto the path: all of it where time counts, else no
// more than is wanted at once.
void Impaired::Pull() noexcept {
  const uint64_t now_ns = receive_.Now();
  receive_.ReleaseOverdue(now_ns);
  for (int round = 0; round < kMaxRounds; ++round) {
    if (now_ns == 0 && receive_.out().size() >= window_.size()) break;
    const std::span<const RxFrame> frames = inner_->Receive(kBurst);
    size_t taken = 0;
    while (taken < frames.size() && receive_.Take(frames[taken], now_ns)) {
      ++taken;
    }
    inner_->Consume(taken);
    if (frames.empty() || taken < frames.size()) break;
  }
  if (inner_->finished()) receive_.ReleaseAll(now_ns);
  NoteEnd();
}

void Impaired::NoteEnd() noexcept {
  receive_.CountWaiting();
  finished_ = receive_.empty() && inner_->finished();
}

bool Impaired::ArmReceive() noexcept {
  bool more = true;
  for (int round = 0; more && round < kMaxRounds; ++round) {
    Pull();
    if (shown_ > consumed_ || receive_.Due(receive_.Now(), 1) > 0) return true;
    more = !inner_->finished() && inner_->ArmReceive();
  }
  if (!more && inner_->wake_fd() >= 0) {
    Watch(wake_.get(), inner_->wake_fd(), EPOLLIN | EPOLLONESHOT);
  }
  const std::optional<uint64_t> next = receive_.NextDue();
  if (!next.has_value()) return more;
  SetTimer(receive_timer_.get(), *next);
  return false;
}

void Impaired::ClearWake() noexcept {
  std::array<epoll_event, 3> events;
  epoll_wait(wake_.get(), events.data(), events.size(), 0);
  ClearTimer(receive_timer_.get());
  ClearTimer(send_timer_.get());
  inner_->ClearWake();
}

std::span<const BackendCounter> Impaired::counters() const noexcept {
  size_t at = 0;
  for (const BackendCounter& counter : inner_->counters()) {
    if (at + kNames.size() == counters_.size()) break;
    counters_[at++].value.Set(counter.value.value());
  }
  at = counters_.size() - kNames.size();
  for (const ImpairedPath* path : {&receive_, &send_}) {
    for (size_t i = 0; i < ImpairedPath::kCounts; ++i) {
      counters_[at++].value.Set(
          path->count(static_cast<ImpairedPath::Count>(i)));
    }
  }
  return counters_;
}

}  // namespace weir::hca
