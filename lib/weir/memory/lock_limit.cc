#include "weir/memory/lock_limit.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace weir {
namespace {

bool MayLockEverything() {
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (syscall(SYS_capget, &header, sets.data()) != 0) return false;
  return ((sets[CAP_TO_INDEX(CAP_IPC_LOCK)].effective >> CAP_IPC_LOCK) & 1) !=
         0;
}

}  // namespace

std::optional<uint64_t> LockLimitBytes() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY || MayLockEverything()) {
    return std::nullopt;
  }
  return limit.rlim_cur;
}

}  // namespace weir
