#include "weir/app/fd_handlers.h"

#include <utility>

namespace weir {

void FdHandlers::Add(int fd, short events, Handler handler) {
  handlers_[fd] = {events, std::make_shared<const Handler>(std::move(handler))};
}

void FdHandlers::Remove(int fd) { handlers_.erase(fd); }

void FdHandlers::AppendTo(std::vector<pollfd>& polled) const {
  for (const auto& [fd, entry] : handlers_) {
    polled.push_back({.fd = fd, .events = entry.events, .revents = 0});
  }
}

size_t FdHandlers::Call(std::span<const pollfd> polled) {
  size_t called = 0;
  for (const pollfd& seen : polled) {
    if (seen.revents == 0) continue;
    const auto found = handlers_.find(seen.fd);
    if (found == handlers_.end()) continue;
    const std::shared_ptr<const Handler> handler = found->second.handler;
    (*handler)(seen.revents);
    ++called;
  }
  return called;
}

}  // namespace weir
