#include "weir/topo/pin.h"

#include <sched.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"

namespace weir {

absl::Status PinThisThread(uint32_t id) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (id < CPU_SETSIZE) CPU_SET(id, &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    return ErrnoStatus(errno,
                       {.object = absl::StrCat("lcore ", id),
                        .call = "sched_setaffinity",
                        .remedy = "it does not exist or is not allowed to this "
                                  "process"});
  }
  return absl::OkStatus();
}

void KeepThisThreadOff(std::span<const uint32_t> ids) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return;
  for (const uint32_t id : ids) {
    if (id < CPU_SETSIZE) CPU_CLR(id, &set);
  }
  // Of an empty set the kernel says no, and all stays as it is.
  sched_setaffinity(0, sizeof(set), &set);
}

}  // namespace weir
