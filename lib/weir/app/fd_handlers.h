// What the control thread does while it waits for the end of a run: descriptors
// that it waits for besides its own, each with what is to be done once one is
// ready. Requests and events of devices come in here.

#ifndef WEIR_APP_FD_HANDLERS_H_
#define WEIR_APP_FD_HANDLERS_H_

#include <poll.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace weir {

// Control thread only.
class FdHandlers {
 public:
  // Gets `revents` of poll(2). Has to return soon: nothing else is done
  // meanwhile. It may add and remove handlers, itself too.
  using Handler = std::function<void(short revents)>;

  // Has `handler` called whenever poll(2) says one of `events`, an error or a
  // hang-up of `fd`, which stays the caller's and open until Remove. Takes the
  // place of an earlier handler of `fd`.
  void Add(int fd, short events, Handler handler);

  // Nothing happens if `fd` has none.
  void Remove(int fd);

  size_t size() const noexcept { return handlers_.size(); }

  // Appends what to poll.
  void AppendTo(std::vector<pollfd>& polled) const;

  // Calls the handlers of those in `polled` that are ready and have not been
  // removed meanwhile; how many.
  size_t Call(std::span<const pollfd> polled);

 private:
  struct Entry {
    short events;
    // Shared, so that one that removes itself outlives its own call.
    std::shared_ptr<const Handler> handler;
  };

  std::map<int, Entry> handlers_;
};

}  // namespace weir

#endif  // WEIR_APP_FD_HANDLERS_H_
