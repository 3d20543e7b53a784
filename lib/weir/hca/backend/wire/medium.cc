#include "weir/hca/backend/wire/medium.h"

#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"
#include "weir/ring/byte_ring.h"

namespace weir::hca {
namespace {

// For an end that is not free yet. The locks of a process that was killed go
// with its memory, and whoever reads about that in /proc keeps it a little
// longer than the process is there.
constexpr std::chrono::milliseconds kPatience{200};
constexpr std::chrono::milliseconds kPause{1};

absl::Status Foreign(const WireRequest& request, const WireFile& file,
                     absl::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat(request.object, ": ", file.path(), " ", what,
                   "; remove it or choose another name"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<WireMedium>> WireMedium::Open(
    const WireRequest& request) {
  WireFile::RemoveLeftovers();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    auto medium = TryOpen(request);
    if (medium.ok() || !absl::IsAlreadyExists(medium.status()) ||
        std::chrono::steady_clock::now() > deadline) {
      return medium;
    }
    std::this_thread::sleep_for(kPause);
  }
}

absl::StatusOr<std::unique_ptr<WireMedium>> WireMedium::TryOpen(
    const WireRequest& request) {
  absl::StatusOr<WireFile> file =
      WireFile::OpenLocked(request.object, request.name);
  if (!file.ok()) return file.status();
  // From here on the destructor clears up.
  std::unique_ptr<WireMedium> medium(new WireMedium(*std::move(file)));
  const absl::Status status = medium->Enter(request);
  medium->file_.Unlock();
  if (!status.ok()) return status;
  return medium;
}

WireMedium::WireMedium(WireFile file) noexcept
    : file_(std::move(file)), owner_(getpid()) {}

absl::Status WireMedium::Enter(const WireRequest& request) {
  const absl::StatusOr<WireFile::Start> start = file_.ReadStart();
  if (!start.ok()) return start.status();
  const bool in_use = AnyOtherIsHeld();
  // A process that was killed here has left the magic at zero.
  if (start->first_word != kWireMagic && (start->first_word != 0 || in_use)) {
    return Foreign(request, file_, "is not the file of a wire");
  }
  if (in_use && start->file_bytes < WireHeaderBytes()) {
    return Foreign(request, file_, "is damaged");
  }
  absl::Status status = in_use ? MapHeader() : Format(request);
  if (status.ok() && in_use) status = CheckHeader(request, start->file_bytes);
  if (!status.ok()) return status;
  is_wire_ = true;
  geometry_ = header_->geometry;
  status = Hold(request);
  if (!status.ok()) return status;
  for (size_t other = 0; other < kWireEnds; ++other) {
    // Else this end would send to it, through a ring that has no memory.
    if (other != end_ && is_open(other) && !file_.IsHeld(other)) Bury(other);
  }
  status = AllocateRings();
  if (status.ok()) status = Announce();
  return status;
}

absl::Status WireMedium::MapHeader() {
  mapping_ = Mapping::Shared(file_.fd(), 0, WireHeaderBytes());
  if (!mapping_.is_mapped()) {
    return ErrnoStatus(errno, {.object = file_.path(), .call = "mmap"});
  }
  header_ = std::launder(
      static_cast<WireHeader*>(static_cast<void*>(mapping_.bytes().data())));
  return absl::OkStatus();
}

// Of a new file, or of one that nobody uses: what is left of processes that
// were killed.
absl::Status WireMedium::Format(const WireRequest& request) {
  is_wire_ = true;
  absl::Status status = file_.Clear(WireFileBytes(request.geometry));
  if (status.ok()) status = file_.Allocate(0, WireHeaderBytes());
  if (status.ok()) status = MapHeader();
  if (!status.ok()) return status;
  new (mapping_.bytes().data()) WireHeader;
  header_->geometry = request.geometry;
  header_->magic = kWireMagic;
  return absl::OkStatus();
}

// Of a wire that is in use: all ends must mean the same.
absl::Status WireMedium::CheckHeader(const WireRequest& request,
                                     size_t file_bytes) const {
  if (header_->version != kWireVersion || header_->ends != kWireEnds) {
    return Foreign(request, file_, "is in use by another version of weir");
  }
  const WireGeometry actual = header_->geometry;
  if (actual.mtu_bytes == 0 || !std::has_single_bit(actual.ring_bytes) ||
      file_bytes != WireFileBytes(actual)) {
    return Foreign(request, file_, "is damaged");
  }
  if (request.mtu_given && request.geometry.mtu_bytes != actual.mtu_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        request.object, ": the other end has mtu=", actual.mtu_bytes,
        "; give both the same or leave it out"));
  }
  if (request.ring_bytes_given &&
      request.geometry.ring_bytes != actual.ring_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        request.object, ": the other end has bytes=", actual.ring_bytes,
        "; give both the same or leave it out"));
  }
  return absl::OkStatus();
}

absl::Status WireMedium::Hold(const WireRequest& request) {
  size_t end = request.end.value_or(0);
  const size_t last = request.end.value_or(kWireEnds - 1);
  while (end <= last && !file_.TryHold(end)) ++end;
  if (end > last) {
    return absl::AlreadyExistsError(
        request.end.has_value()
            ? absl::StrCat(request.object, ": this end is open already")
            : absl::StrCat(request.object, ": all ", kWireEnds,
                           " ends are open already"));
  }
  end_ = end;
  return absl::OkStatus();
}

// The rings between this end and all that are open, so that nobody meets a lack
// of memory, which is a SIGBUS, later.
absl::Status WireMedium::AllocateRings() {
  for (size_t other = 0; other < kWireEnds; ++other) {
    if (other == end_ || !file_.IsHeld(other)) continue;
    for (const auto& [from, to] :
         {std::pair(end_, other), std::pair(other, end_)}) {
      const absl::Status status = file_.Allocate(
          WireRingOffset(geometry_, from, to), WireRingStride(geometry_));
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

// The end is open for the others once its generation says so; what was on the
// way to who had it before is not for it.
absl::Status WireMedium::Announce() {
  if (!Drain(end_)) {
    return ErrnoStatus(errno, {.object = file_.path(), .call = "mmap"});
  }
  absl::StatusOr<WireWake> wake = WireWake::Open(WakePath(end_), file_.path());
  if (!wake.ok()) return wake.status();
  wake_.emplace(*std::move(wake));
  abandoned_before_ += abandoned();
  SetGeneration(end_, generation(end_) + (is_open(end_) ? 2 : 1));
  return absl::OkStatus();
}

WireMedium::~WireMedium() {
  if (getpid() == owner_ && is_wire_) Close();
}

void WireMedium::Close() noexcept {
  const std::lock_guard hold(mutex_);
  // Without the lock the end is as if its process had died: the locks go with
  // the file.
  if (!file_.Lock()) return;
  if (end_ < kWireEnds) {
    if (is_open(end_)) SetGeneration(end_, generation(end_) + 1);
    Drain(end_);
    file_.RemoveWake(end_);
  }
  if (!AnyOtherIsHeld()) file_.Remove();
}

Mapping WireMedium::MapRing(size_t from, size_t to) const noexcept {
  return Mapping::Shared(file_.fd(), WireRingOffset(geometry_, from, to),
                         geometry_.ring_bytes);
}

void WireMedium::TryBury(size_t end) noexcept {
  const std::unique_lock hold(mutex_, std::try_to_lock);
  if (!hold.owns_lock() || !file_.TryLock()) return;
  // Somebody may have taken the end since the caller looked.
  if (!file_.IsHeld(end)) Bury(end);
  file_.Unlock();
}

// Tells even of a generation that is even: who died may not have come to that.
void WireMedium::Bury(size_t end) noexcept {
  SetGeneration(end, generation(end) + (is_open(end) ? 1 : 0));
  Drain(end);
}

void WireMedium::SetGeneration(size_t end, uint32_t generation) noexcept {
  header_->slots[end].generation = generation;
  ++header_->membership;
}

// Releases and counts what is on the way to an end that nobody reads. False if
// a ring cannot be mapped.
bool WireMedium::Drain(size_t end) noexcept {
  for (size_t from = 0; from < kWireEnds; ++from) {
    WirePath& drained = path(from, end);
    if (drained.indices.published == drained.indices.released) continue;
    const Mapping ring = MapRing(from, end);
    if (!ring.is_mapped()) return false;
    drained.abandoned +=
        ByteRingReader(drained.indices, ring.bytes()).ReleaseAll();
  }
  return true;
}

uint64_t WireMedium::abandoned() const noexcept {
  uint64_t frames = 0;
  for (const WirePath& to : header_->paths[end_]) frames += to.abandoned;
  return frames - abandoned_before_;
}

bool WireMedium::AnyOtherIsHeld() const noexcept {
  for (size_t end = 0; end < kWireEnds; ++end) {
    if (end != end_ && file_.IsHeld(end)) return true;
  }
  return false;
}

}  // namespace weir::hca
