#include "weir/verbs/completion_queue.h"

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"

namespace weir::verbs {

absl::StatusOr<CompletionQueue> CompletionQueue::Create(const Device& device,
                                                        uint32_t entries) {
  ibv_cq* cq = ibv_create_cq(device.context(), static_cast<int>(entries),
                             nullptr, nullptr, 0);
  if (cq == nullptr) {
    return ErrnoStatus(
        errno,
        {.object = absl::StrCat(
             device.name(), ": cannot create a completion queue of ", entries,
             " entries (the device has at "
             "most ",
             device.attributes().max_cqe, ")"),
         .call = "ibv_create_cq"});
  }
  return CompletionQueue(cq);
}

}  // namespace weir::verbs
