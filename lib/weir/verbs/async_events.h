// What a device says unasked: that a link came or went, that a queue failed by
// itself, that the device itself is gone.

#ifndef WEIR_VERBS_ASYNC_EVENTS_H_
#define WEIR_VERBS_ASYNC_EVENTS_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "weir/verbs/device.h"

namespace weir::verbs {

enum class AsyncEvent : uint8_t {
  // The link of the port came, or went. A device may say once what happened
  // several times before it was asked.
  kLinkUp,
  kLinkDown,
  // The device is of no more use.
  kDeviceGone,
  // A queue pair, a work queue or a completion queue failed.
  kQueueFailed,
  // Anything else, such as a new GID, or the link of another port.
  kOther,
};

// The events of an open device, which must outlive this. Movable. Control
// thread.
class AsyncEvents {
 public:
  // Has Take never wait. Internal, naming the device, if its descriptor cannot
  // be made so.
  static absl::StatusOr<AsyncEvents> Create(const Device& device);

  // Readable while there may be events. Stays that of the device.
  int fd() const noexcept { return context_->async_fd; }

  // Takes the next event, and acknowledges it, so that its object can be
  // destroyed; nothing if there is none. `port` is the number at the device of
  // the one that is asked for.
  std::optional<AsyncEvent> Take(uint8_t port) noexcept;

 private:
  explicit AsyncEvents(ibv_context* context) noexcept : context_(context) {}

  ibv_context* context_;
};

}  // namespace weir::verbs

#endif  // WEIR_VERBS_ASYNC_EVENTS_H_
