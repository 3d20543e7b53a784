// An XDP program on a netdev, for as long as a file descriptor is open: it goes
// with the process, however that ends.

#ifndef WEIR_HCA_BACKEND_XDP_XDP_LINK_H_
#define WEIR_HCA_BACKEND_XDP_XDP_LINK_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/base/unique_fd.h"
#include "weir/hca/backend/netdev.h"

namespace weir::hca {

struct XdpLink {
  // Detaches the program when it is closed.
  UniqueFd fd;
  // True if the driver runs the program, false if the kernel does, on frames
  // that it has wrapped already.
  bool is_native = false;
};

// Attaches the program behind `program_fd` to `netdev`, to its driver if that
// can do it. Messages begin with `object`. FailedPrecondition, saying how to
// remove it, if there is a program already; PermissionDenied without
// CAP_NET_ADMIN, else errors as the system says. Control thread.
absl::StatusOr<XdpLink> AttachXdp(int program_fd, const NetdevFacts& netdev,
                                  absl::string_view object);

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_XDP_XDP_LINK_H_
