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

}  // namespace weir
