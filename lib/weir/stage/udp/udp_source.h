// Where datagrams begin: an inlet that makes UDP packets of payload that
// somebody has, at a rate.

#ifndef WEIR_STAGE_UDP_UDP_SOURCE_H_
#define WEIR_STAGE_UDP_UDP_SOURCE_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "weir/base/counter.h"
#include "weir/base/tsc_clock.h"
#include "weir/mbuf/burst.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/sleep.h"
#include "weir/stage/udp/sequence_stamp.h"
#include "weir/stage/udp/udp_headers.h"

namespace weir {

// Payload, one datagram after another, of max_bytes() at most. Front shows the
// bytes of the next one, which stay where they are until Pop; nothing if there
// is none now. Finished: there will be none. On the lcore of the inlet. One
// that knows when there is payload again has Arm and Disarm, as inlets do
// (sleep.h); the others are asked by the clock.
template <typename T>
concept PayloadSource = std::movable<T> && requires(T source, const T& seen) {
  { source.Front() }
  noexcept->std::same_as<std::optional<std::span<const std::byte>>>;
  { source.Pop() }
  noexcept->std::same_as<void>;
  { seen.finished() }
  noexcept->std::same_as<bool>;
  { seen.max_bytes() } -> std::same_as<size_t>;
};

struct UdpSourceOptions {
  UdpAddresses addresses = {};
  // Datagrams a second, 0: as many as the rest of the pipeline takes.
  uint64_t datagrams_per_second = 0;
  // Whether there is a SequenceStamp in front of each payload.
  bool stamps = false;
};

// How a UdpSource keeps its rate. Its lcore writes.
struct UdpPace {
  // Datagrams.
  Counter made;
  // Ticks of the TSC in which datagrams were due that are not made any more.
  Counter lost_tsc;
};

// An inlet. Each packet is a datagram, of up to 65507 bytes over IPv4 and 65527
// over IPv6, in as many segments as it takes; checksums are for FillChecksums,
// what is longer than the MTU is for Fragment. Owner lcore only.
template <PayloadSource Payload>
class UdpSource {
 public:
  static constexpr absl::string_view kName = "udp-source";

  // InvalidArgument for addresses that do not fit together, or payload that is
  // too long. Control thread, before Launch.
  static absl::StatusOr<UdpSource> Create(const UdpSourceOptions& options,
                                          Payload payload) {
    absl::StatusOr<UdpHeaders> headers = UdpHeaders::Create(options.addresses);
    if (!headers.ok()) return headers.status();
    const size_t bytes =
        payload.max_bytes() + (options.stamps ? sizeof(SequenceStamp) : 0);
    if (bytes > headers->max_payload_bytes()) {
      return absl::InvalidArgumentError(
          absl::StrCat("want datagrams of ", headers->max_payload_bytes(),
                       " bytes at most, got ", bytes));
    }
    return UdpSource(options, *std::move(headers), std::move(payload));
  }

  void Receive(Burst& burst, Lcore& lcore) noexcept {
    now_tsc_ = lcore.now_tsc();
    const uint64_t wall_ns = stamps_ ? WallNs() : 0;
    std::array<std::byte, sizeof(SequenceStamp)> stamp;
    const std::span<const std::byte> front =
        std::span(stamp).first(stamps_ ? stamp.size() : 0);
    SkipWhatIsLost();
    while (next_tsc_ <= now_tsc_ && burst.size() < kDefaultBurst) {
      const auto bytes = payload_.Front();
      if (!bytes) {
        is_waiting_ = true;
        break;
      }
      if (stamps_) WriteSequenceStamp(stamp, sequence_, wall_ns);
      Mbuf* const packet = headers_.Make(front, *bytes, lcore.cache());
      // Without mbufs it is tried again.
      if (packet == nullptr) break;
      burst.Adopt(*packet);
      payload_.Pop();
      ++sequence_;
      next_tsc_ += interval_tsc_;
    }
    pace_->made.Add(burst.size());
  }

  // Any thread.
  std::shared_ptr<const UdpPace> pace() const { return pace_; }

  // True when there is no payload any more.
  bool finished() const noexcept { return payload_.finished(); }

  void Arm(Sleep& sleep) noexcept {
    if (payload_.Front()) {
      sleep.WakeAt(next_tsc_);
    } else if constexpr (Sleeper<Payload>) {
      payload_.Arm(sleep);
    } else {
      sleep.WakeWithin(Sleep::kTickNs);
    }
  }
  void Disarm() noexcept {
    if constexpr (Sleeper<Payload>) payload_.Disarm();
  }

 private:
  UdpSource(const UdpSourceOptions& options, UdpHeaders headers,
            Payload payload)
      : payload_(std::move(payload)),
        headers_(std::move(headers)),
        interval_tsc_(options.datagrams_per_second == 0
                          ? 0
                          : TscHz() / options.datagrams_per_second),
        behind_tsc_(interval_tsc_ == 0 ? UINT64_MAX
                                       : kDefaultBurst * interval_tsc_),
        stamps_(options.stamps) {}

  // Who was held up may catch up on a burst; before the first datagram, and
  // where there is no payload, nobody is.
  void SkipWhatIsLost() noexcept {
    if (std::exchange(is_waiting_, false)) {
      next_tsc_ = now_tsc_;
      return;
    }
    const uint64_t earliest = now_tsc_ - std::min(now_tsc_, behind_tsc_);
    if (next_tsc_ >= earliest) return;
    pace_->lost_tsc.Add(earliest - next_tsc_);
    next_tsc_ = earliest;
  }

  // The time of day, from memory that the kernel shares: no system call.
  static uint64_t WallNs() noexcept {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }

  Payload payload_;
  UdpHeaders headers_;
  uint64_t sequence_ = 0;
  // When the next datagram is due; the clock of the last poll.
  uint64_t next_tsc_ = 0;
  uint64_t now_tsc_ = 0;
  uint64_t interval_tsc_;
  uint64_t behind_tsc_;
  bool stamps_;
  // There was no payload when one was due, as before the first.
  bool is_waiting_ = true;
  std::shared_ptr<UdpPace> pace_ = std::make_shared<UdpPace>();
};

}  // namespace weir

#endif  // WEIR_STAGE_UDP_UDP_SOURCE_H_
