#include "weir/verbs/async_events.h"

#include <fcntl.h>

#include <cerrno>

#include "weir/base/errno_status.h"

namespace weir::verbs {

absl::StatusOr<AsyncEvents> AsyncEvents::Create(const Device& device) {
  const int fd = device.context()->async_fd;
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, {.object = device.name(),
                               .call = "fcntl of the descriptor for events"});
  }
  return AsyncEvents(device.context());
}

std::optional<AsyncEvent> AsyncEvents::Take(uint8_t port) noexcept {
  ibv_async_event event{};
  if (ibv_get_async_event(context_, &event) != 0) return std::nullopt;
  ibv_ack_async_event(&event);
  const bool is_of_port = event.element.port_num == port;
  switch (event.event_type) {
    case IBV_EVENT_PORT_ACTIVE:
      return is_of_port ? AsyncEvent::kLinkUp : AsyncEvent::kOther;
    case IBV_EVENT_PORT_ERR:
      return is_of_port ? AsyncEvent::kLinkDown : AsyncEvent::kOther;
    case IBV_EVENT_DEVICE_FATAL:
      return AsyncEvent::kDeviceGone;
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_WQ_FATAL:
      return AsyncEvent::kQueueFailed;
    default:
      return AsyncEvent::kOther;
  }
}

}  // namespace weir::verbs
