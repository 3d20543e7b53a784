// What a sleeper waits for: an epoll descriptor that becomes readable when a
// socket of the port gets a frame. The sockets are in its set only while
// somebody sleeps, because the kernel goes through the set for every frame that
// arrives, and for every one that was sent.

#ifndef WEIR_HCA_BACKEND_XDP_XDP_WAKE_H_
#define WEIR_HCA_BACKEND_XDP_XDP_WAKE_H_

#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/base/unique_fd.h"
#include "weir/hca/backend/xdp/xdp_socket.h"

namespace weir::hca {

class XdpWake {
 public:
  // Nothing is watched yet. Messages begin with `object`; errors as the system
  // says. Control thread.
  static absl::StatusOr<XdpWake> Create(absl::string_view object);

  // For whoever sleeps, and for others to watch more with.
  int fd() const noexcept { return fd_.get(); }

  // Watches `sockets`, always the same ones, until Disarm; false if the system
  // cannot, and nothing is watched. Serialised with Disarm.
  bool Arm(std::span<const XdpSocket> sockets) noexcept;
  void Disarm(std::span<const XdpSocket> sockets) noexcept;

 private:
  explicit XdpWake(UniqueFd fd) noexcept : fd_(std::move(fd)) {}

  UniqueFd fd_;
  bool is_armed_ = false;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_XDP_XDP_WAKE_H_
