// What a process needs beyond the rights of an ordinary user to open an xdp
// device. Calls that fail for want of one name all, so that nobody asks for
// them one by one.

#ifndef WEIR_HCA_BACKEND_XDP_XDP_RIGHTS_H_
#define WEIR_HCA_BACKEND_XDP_XDP_RIGHTS_H_

#include "absl/strings/string_view.h"

namespace weir::hca {

inline constexpr absl::string_view kXdpRights =
    "xdp needs CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON, and a high "
    "`ulimit -l` or CAP_IPC_LOCK: run as root, or `setcap "
    "cap_net_raw,cap_net_admin,cap_bpf,cap_perfmon,cap_ipc_lock+ep PROGRAM`";

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_XDP_XDP_RIGHTS_H_
