// All captures of a process, and the thread that writes their files. Whoever
// asks for captures never waits for a disk, and neither do lcores: those write
// to rings, the thread reads them.

#ifndef WEIR_CAPTURE_CAPTURE_HUB_H_
#define WEIR_CAPTURE_CAPTURE_HUB_H_

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/base/unique_fd.h"
#include "weir/capture/capture_options.h"
#include "weir/capture/capture_session.h"
#include "weir/pipeline/tap_point.h"

namespace weir {

// Ends all captures when destroyed. Control thread only.
class CaptureHub {
 public:
  static constexpr size_t kMaxRunning = 16;
  // Captures that are over and still listed.
  static constexpr size_t kMaxEnded = 32;
  // Of the ring of a place, a power of two, 2^18 at least.
  static constexpr size_t kRingBytes = 4 << 20;

  // For captures that `application` writes, at `places`, which have to outlive
  // this with all names they show. ResourceExhausted if the process has no
  // descriptor left.
  static absl::StatusOr<std::unique_ptr<CaptureHub>> Create(
      std::string application, std::vector<TapPlace> places,
      size_t ring_bytes = kRingBytes);

  CaptureHub(const CaptureHub&) = delete;
  CaptureHub& operator=(const CaptureHub&) = delete;
  ~CaptureHub();

  // Begins a capture at once and returns its number. The writing thread, which
  // the first one starts, runs where the calling thread may. ResourceExhausted
  // if kMaxRunning run, or there is no thread to be had; InvalidArgument for a
  // snaplen that is none; errors of CaptureSession::Create.
  absl::StatusOr<uint64_t> Start(CaptureOptions options);

  // Ends it: what was seen until now is written yet, see List. NotFound if none
  // of this number runs.
  absl::Status Stop(uint64_t id);

  // By number; of those that are over the last kMaxEnded.
  std::vector<CaptureStatus> List() const;

  // Ends all and returns when their files are whole.
  void StopAll();

  // Readable (an eventfd) when TakeFailures has something.
  int failure_fd() const noexcept { return failure_fd_.get(); }
  // Why captures ended that should not have, a line each.
  std::vector<std::string> TakeFailures();

 private:
  // A place that somebody looks at.
  struct Watched {
    std::shared_ptr<TapPoint> point;
    std::shared_ptr<TapRing> ring;
  };
  struct Running {
    std::unique_ptr<CaptureSession> session;
    bool is_ending = false;
  };

  CaptureHub(std::string application, std::vector<TapPlace> places,
             size_t ring_bytes, UniqueFd failure_fd);

  // What the thread works on in a round.
  struct Round {
    std::vector<CaptureSession*> sessions;
    std::vector<bool> endings;
    std::vector<Watched> watched;
  };

  absl::Status StartThread();
  absl::Status CheckRoom() const;
  void Run();
  void Drain(const Round& round);
  void End(CaptureSession& session);
  // With the lock.
  Round BeginRound() const;
  std::vector<std::array<uint64_t, kTapKinds>> LostOf(
      CaptureSession& session) const;
  void UpdateTaps();
  CaptureStatus StatusOf(const Running& running) const;

  std::string application_;
  std::vector<TapPlace> places_;
  size_t ring_bytes_;
  UniqueFd failure_fd_;

  // Held for moments only, never while a file is written.
  mutable std::mutex lock_;
  std::condition_variable changed_;
  uint64_t last_id_ = 0;
  std::map<uint64_t, Running> running_;
  std::deque<CaptureStatus> ended_;
  std::map<const TapPoint*, Watched> watched_;
  std::vector<std::string> failures_;
  bool is_quitting_ = false;
  std::thread thread_;
};

}  // namespace weir

#endif  // WEIR_CAPTURE_CAPTURE_HUB_H_
