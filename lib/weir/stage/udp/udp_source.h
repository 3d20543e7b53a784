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
#include <optional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
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
    // Who was held up may catch up on a burst; before the first datagram, and
    // where there is no payload, nobody is.
    next_tsc_ = std::max(next_tsc_, now_tsc_ - std::min(now_tsc_, behind_tsc_));
    if (sequence_ == 0) next_tsc_ = now_tsc_;
    while (next_tsc_ <= now_tsc_ && burst.size() < kDefaultBurst) {
      const auto bytes = payload_.Front();
      if (!bytes) {
        next_tsc_ = now_tsc_;
        return;
      }
      if (stamps_) WriteSequenceStamp(stamp, sequence_, wall_ns);
      Mbuf* const packet = headers_.Make(front, *bytes, lcore.cache());
      // Without mbufs it is tried again.
      if (packet == nullptr) return;
      burst.Adopt(*packet);
      payload_.Pop();
      ++sequence_;
      next_tsc_ += interval_tsc_;
    }
  }

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
        behind_tsc_(kDefaultBurst * interval_tsc_),
        stamps_(options.stamps) {}

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
};

}  // namespace weir

#endif  // WEIR_STAGE_UDP_UDP_SOURCE_H_
