// The shared memory of a wire as one of its ends sees it: takes an end, knows
// which others are open, maps the rings, and clears up after processes that
// died.

#ifndef WEIR_HCA_BACKEND_WIRE_MEDIUM_H_
#define WEIR_HCA_BACKEND_WIRE_MEDIUM_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/hca/backend/mapping.h"
#include "weir/hca/backend/wire/file.h"
#include "weir/hca/backend/wire/layout.h"
#include "weir/hca/backend/wire/wake.h"

namespace weir::hca {

// What is asked for. Error messages begin with `object`.
struct WireRequest {
  std::string object;
  std::string name;
  // Of a new wire; a wire that is there must have the same where the user has
  // said so.
  WireGeometry geometry;
  bool mtu_given = false;
  bool ring_bytes_given = false;
  // The first one that is free if nothing is wanted.
  std::optional<size_t> end;
};

class WireMedium {
 public:
  // Takes an end of the wire. What is still on the way to it from before is
  // counted as abandoned. InvalidArgument for a wire of another geometry;
  // AlreadyExists if the end, or all, are open and stay so for a fifth of a
  // second; FailedPrecondition for a file that is not a wire's;
  // ResourceExhausted if memory is short; else as the system says. Any thread.
  static absl::StatusOr<std::unique_ptr<WireMedium>> Open(
      const WireRequest& request);
  WireMedium(const WireMedium&) = delete;
  WireMedium& operator=(const WireMedium&) = delete;
  // Closes the end; the last one removes the file. A process that was forked
  // from the one that opened it leaves the end alone.
  ~WireMedium();

  size_t end() const noexcept { return end_; }
  const WireGeometry& geometry() const noexcept { return geometry_; }
  // Where the others write to wake `end`.
  std::string WakePath(size_t end) const { return file_.WakePath(end); }
  WireWake& wake() noexcept { return *wake_; }

  // Changes whenever an end is opened or closed. Any thread.
  uint64_t membership() const noexcept { return header_->membership; }
  uint32_t generation(size_t end) const noexcept {
    return header_->slots[end].generation;
  }
  bool is_open(size_t end) const noexcept { return generation(end) % 2 == 1; }
  WireSlot& slot(size_t end) noexcept { return header_->slots[end]; }
  WirePath& path(size_t from, size_t to) noexcept {
    return header_->paths[from][to];
  }
  // The ring from one end to another; not mapped if the system refuses. Any
  // thread.
  Mapping MapRing(size_t from, size_t to) const noexcept;

  // Closes `end` if its process is dead, and empties the rings to it if it is
  // not open; leaves it for another time if somebody else has the lock. Any
  // thread.
  void TryBury(size_t end) noexcept;
  // True if frames wait in the ring from one end to another. Any thread.
  bool AnyOnTheWay(size_t from, size_t to) const noexcept {
    const ByteRingIndices& indices = header_->paths[from][to].indices;
    return indices.published != indices.released;
  }

  // Frames of this end that were on the way when the end they went to was
  // closed or died. Any thread.
  uint64_t abandoned() const noexcept;

 private:
  explicit WireMedium(WireFile file) noexcept;

  static absl::StatusOr<std::unique_ptr<WireMedium>> TryOpen(
      const WireRequest& request);
  // Its steps, under the lock of the file.
  absl::Status Enter(const WireRequest& request);
  absl::Status MapHeader();
  absl::Status Format(const WireRequest& request);
  absl::Status CheckHeader(const WireRequest& request, size_t file_bytes) const;
  absl::Status Hold(const WireRequest& request);
  absl::Status AllocateRings();
  absl::Status Announce();

  bool AnyOtherIsHeld() const noexcept;
  void Bury(size_t end) noexcept;
  bool Drain(size_t end) noexcept;
  void SetGeneration(size_t end, uint32_t generation) noexcept;
  void Close() noexcept;

  WireFile file_;
  pid_t owner_;
  Mapping mapping_;
  WireHeader* header_ = nullptr;
  // Not somebody else's file: it may be removed.
  bool is_wire_ = false;
  WireGeometry geometry_{};
  size_t end_ = kWireEnds;
  std::optional<WireWake> wake_;
  uint64_t abandoned_before_ = 0;
  // Beside the lock of the file, which is one for the whole process.
  std::mutex mutex_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_WIRE_MEDIUM_H_
