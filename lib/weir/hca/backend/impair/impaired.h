// A bad link in front of any medium: loses, duplicates, reorders, corrupts,
// delays and paces frames on their way in and out. Where no key asks for that,
// it is not there.

#ifndef WEIR_HCA_BACKEND_IMPAIR_IMPAIRED_H_
#define WEIR_HCA_BACKEND_IMPAIR_IMPAIRED_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "weir/base/cache_line.h"
#include "weir/base/unique_fd.h"
#include "weir/hca/backend/backend.h"
#include "weir/hca/backend/impair/impaired_path.h"
#include "weir/hca/backend/impair/impairment.h"

namespace weir::hca {

// What goes in comes out again, lost frames aside. When it is destroyed, frames
// on their way out are sent at once: as many as the medium takes within a tenth
// of a second. The rest, and those to be received, go; before, they are what
// `tx_waiting` and `rx_waiting` count.
class Impaired final : public Backend {
 public:
  // In front of `inner`, which stays with the caller if that fails; messages
  // begin with `object`. Errors of the system. Control thread, while nothing
  // else uses `inner`.
  static absl::StatusOr<std::unique_ptr<Impaired>> Create(
      std::unique_ptr<Backend>&& inner, const Impairment& impairment,
      absl::string_view object);
  Impaired(const Impaired&) = delete;
  Impaired& operator=(const Impaired&) = delete;
  ~Impaired() override;

  // Treats frames that come from now on as `impairment` says; one in a
  // direction that it leaves out, not at all. Neither Transmit nor Receive may
  // run.
  void Change(const Impairment& impairment) noexcept;

  const BackendInfo& info() const noexcept override { return info_; }
  size_t Transmit(std::span<const TxFrame> frames) noexcept override;
  bool Flush() noexcept override;
  std::span<const RxFrame> Receive(size_t max) noexcept override;
  void Consume(size_t count) noexcept override;
  int AddFlow(const FlowRule& rule) override { return inner_->AddFlow(rule); }
  void RemoveFlow(const FlowRule& rule) noexcept override {
    inner_->RemoveFlow(rule);
  }
  LinkState ReadLink() noexcept override { return inner_->ReadLink(); }
  int link_fd() const noexcept override { return inner_->link_fd(); }
  // False while frames are on their way, also if the medium has no more.
  bool finished() const noexcept override { return finished_; }
  int wake_fd() const noexcept override { return wake_.get(); }
  bool ArmReceive() noexcept override;
  void ClearWake() noexcept override;
  std::span<const BackendCounter> counters() const noexcept override;
  std::string TakeWarning() override { return inner_->TakeWarning(); }

 private:
  // One descriptor for what arrives and for what comes due.
  struct Wakers {
    UniqueFd epoll;
    UniqueFd receive_timer;
    UniqueFd send_timer;
  };

  Impaired(std::unique_ptr<Backend>& inner, const Impairment& impairment,
           Wakers wakers);

  void Pull() noexcept;
  void NoteEnd() noexcept;
  const RxFrame& Gather(const TxFrame& frame) noexcept;
  void SendDue(uint64_t now_ns) noexcept;
  void ArmSendTimer(uint64_t now_ns) noexcept;

  std::unique_ptr<Backend> inner_;
  // Receiver only.
  alignas(kCacheLine) ImpairedPath receive_;
  // What the last Receive and those before it showed of receive_.
  std::array<RxFrame, 128> window_;
  size_t shown_ = 0;
  size_t consumed_ = 0;
  UniqueFd receive_timer_;
  // Sender only.
  alignas(kCacheLine) ImpairedPath send_;
  uint64_t send_timer_at_ns_ = 0;
  UniqueFd send_timer_;
  std::unique_ptr<std::byte[]> gathered_;
  RxFrame gathered_frame_{};
  // Set-up and errors only below.
  alignas(kCacheLine) UniqueFd wake_;
  BackendInfo info_;
  std::atomic<bool> finished_;
  // Of the medium and then ours, brought up to date when somebody asks.
  mutable std::vector<BackendCounter> counters_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_IMPAIR_IMPAIRED_H_
