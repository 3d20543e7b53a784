// What the two ends of a wire share: a ring and a doorbell each direction, and
// which ends are open.

#ifndef WEIR_HCA_BACKEND_WIRE_MEDIUM_H_
#define WEIR_HCA_BACKEND_WIRE_MEDIUM_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "weir/hca/backend/unique_fd.h"
#include "weir/ring/byte_ring.h"
#include "weir/ring/doorbell.h"

namespace weir::hca {

// The two ends, also as an index.
enum class WireSide : uint8_t { kA, kB };

constexpr size_t IndexOf(WireSide side) noexcept {
  return static_cast<size_t>(side);
}
constexpr WireSide OtherSide(WireSide side) noexcept {
  return side == WireSide::kA ? WireSide::kB : WireSide::kA;
}

// The way of the frames to one end.
struct WireDirection {
  ByteRingIndices indices;
  Doorbell doorbell;
  // True while the end that frames go to is open.
  std::atomic<bool> receiver_open{false};
  // Readable when the receiver has been woken.
  UniqueFd wake_fd;
  std::unique_ptr<std::byte[]> memory;
  std::span<std::byte> bytes;
};

class WireMedium {
 public:
  struct Options {
    uint32_t mtu_bytes;
    // Of each direction's ring, a power of two.
    size_t ring_bytes;
  };

  // A wire with both ends closed. Errors of eventfd(2) as the system says,
  // beginning with `name`. Any thread.
  static absl::StatusOr<std::shared_ptr<WireMedium>> Create(
      const std::string& name, const Options& options);

  // The wire of this process called `name`: made with `options` if nobody has
  // an end of it. Errors as Create. Any thread.
  static absl::StatusOr<std::shared_ptr<WireMedium>> FindOrCreate(
      const std::string& name, const Options& options);

  // Opens `wanted`, or the first end that is free if nothing is wanted; nothing
  // if it is taken. What is still on the way to that end is dropped. Any
  // thread.
  std::optional<WireSide> Open(std::optional<WireSide> wanted);
  void Close(WireSide side) noexcept;

  WireDirection& to(WireSide side) noexcept {
    return directions_[IndexOf(side)];
  }
  const Options& options() const noexcept { return options_; }

 private:
  explicit WireMedium(const Options& options) : options_(options) {}

  Options options_;
  std::mutex mutex_;
  std::array<WireDirection, 2> directions_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_WIRE_MEDIUM_H_
