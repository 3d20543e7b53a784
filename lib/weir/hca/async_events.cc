#include "weir/hca/async_events.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

namespace weir::hca {
namespace {

// The object that an event is about, null for events of the port or device.
const void* ObjectOf(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_CQ_ERR:
      return event.element.cq;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      return event.element.qp;
    default:
      return nullptr;
  }
}

}  // namespace

AsyncEvents::AsyncEvents() : fd_(eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC)) {}

AsyncEvents::~AsyncEvents() {
  if (fd_ >= 0) close(fd_);
}

void AsyncEvents::Raise(const ibv_async_event& event) noexcept {
  {
    const std::lock_guard hold(lock_);
    events_.push_back(event);
  }
  eventfd_write(fd_, 1);
}

int AsyncEvents::Take(ibv_async_event& event) {
  for (;;) {
    uint64_t one = 0;
    if (read(fd_, &one, sizeof(one)) != sizeof(one)) return -1;
    const std::lock_guard hold(lock_);
    // A dropped event leaves its count in the descriptor.
    if (events_.empty()) continue;
    event = events_.front();
    events_.pop_front();
    if (const void* object = ObjectOf(event)) ++taken_[object];
    return 0;
  }
}

uint32_t AsyncEvents::Drop(const void* object) {
  const std::lock_guard hold(lock_);
  std::erase_if(events_, [object](const ibv_async_event& event) {
    return ObjectOf(event) == object;
  });
  const auto taken = taken_.extract(object);
  return taken.empty() ? 0 : taken.mapped();
}

}  // namespace weir::hca
