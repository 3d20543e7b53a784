// Whether a netdev has a link, and a descriptor that says when that changes:
// what every backend on a netdev needs, without a thread to wait for it.

#ifndef WEIR_HCA_BACKEND_LINK_WATCH_H_
#define WEIR_HCA_BACKEND_LINK_WATCH_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/base/unique_fd.h"
#include "weir/hca/backend/backend.h"

namespace weir::hca {

class LinkWatch {
 public:
  // Watches the netdev with `index` in the network namespace of the calling
  // thread; messages begin with `object`. Errors as the system says. Control
  // thread, before Launch.
  static absl::StatusOr<LinkWatch> Create(int index, absl::string_view object);

  // As ReadLink and link_fd of Backend: the descriptor stays quiet about all
  // other changes of the netdev. Not by two threads at once.
  LinkState Read() noexcept;
  int fd() const noexcept { return fd_.get(); }

  // Whether the netdev has no link, for senders: the system takes frames then
  // and throws them away. Asks once in a tick of the coarse clock, which is
  // some milliseconds. By one thread at a time, Read by another.
  bool IsDown() noexcept;

  // The netdev's MTU when IsDown last asked, 0 if it is not known. By the
  // thread of IsDown.
  uint32_t mtu_bytes() const noexcept { return mtu_bytes_; }

 private:
  LinkWatch(UniqueFd fd, int index) noexcept;

  LinkState Ask() const noexcept;
  uint32_t AskMtu() const noexcept;
  void ExpectChangeFrom(LinkState state) noexcept;
  void Drain() noexcept;

  UniqueFd fd_;
  int index_;
  int64_t asked_at_ns_ = -1;
  uint32_t mtu_bytes_ = 0;
  bool is_down_ = false;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_LINK_WATCH_H_
