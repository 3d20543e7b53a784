#include "weir/hca/backend/wire_medium.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <map>
#include <utility>

#include "weir/base/errno_status.h"

namespace weir::hca {
namespace {

// The one table of the process behind the HCA: two devices that are opened
// independently, by name, have nothing else in common. It owns nothing; a wire
// lives as long as its ends.
struct Registry {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<WireMedium>> wires;
};

Registry& ProcessRegistry() {
  // Never destroyed: an end may outlive the statics of other files.
  static Registry& registry = *new Registry;
  return registry;
}

}  // namespace

absl::StatusOr<std::shared_ptr<WireMedium>> WireMedium::Create(
    const std::string& name, const Options& options) {
  std::shared_ptr<WireMedium> medium(new WireMedium(options));
  for (WireDirection& direction : medium->directions_) {
    direction.wake_fd = UniqueFd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (!direction.wake_fd.is_open()) {
      return ErrnoStatus(errno, {.object = name, .call = "eventfd"});
    }
    // Zeroed, and thereby touched: no page fault on the data path.
    direction.memory = std::make_unique<std::byte[]>(options.ring_bytes);
    direction.bytes = {direction.memory.get(), options.ring_bytes};
  }
  return medium;
}

absl::StatusOr<std::shared_ptr<WireMedium>> WireMedium::FindOrCreate(
    const std::string& name, const Options& options) {
  Registry& registry = ProcessRegistry();
  const std::lock_guard lock(registry.mutex);
  std::erase_if(registry.wires,
                [](const auto& entry) { return entry.second.expired(); });
  if (const auto it = registry.wires.find(name); it != registry.wires.end()) {
    std::shared_ptr<WireMedium> found = it->second.lock();
    if (found != nullptr) return found;
  }
  absl::StatusOr<std::shared_ptr<WireMedium>> made = Create(name, options);
  if (made.ok()) registry.wires[name] = *made;
  return made;
}

std::optional<WireSide> WireMedium::Open(std::optional<WireSide> wanted) {
  const std::lock_guard lock(mutex_);
  for (const WireSide side : {WireSide::kA, WireSide::kB}) {
    WireDirection& direction = to(side);
    if (direction.receiver_open || (wanted.has_value() && side != *wanted)) {
      continue;
    }
    ByteRingReader(direction.indices, direction.bytes).ReleaseAll();
    direction.receiver_open = true;
    return side;
  }
  return std::nullopt;
}

void WireMedium::Close(WireSide side) noexcept {
  const std::lock_guard lock(mutex_);
  to(side).receiver_open = false;
}

}  // namespace weir::hca
