#include "weir/verbs/memory_region.h"

#include <sys/resource.h>

#include <cerrno>
#include <string>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"

namespace weir::verbs {
namespace {

// What shells count the limit in.
constexpr size_t kUnitBytes = 1024;

// What the kernel lets this process lock: memory of a region is locked, and
// without CAP_IPC_LOCK the sum may not exceed the limit.
std::string LockedMemoryLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return "unknown";
  if (limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return absl::StrCat(limit.rlim_cur, " bytes");
}

absl::Status RegisterError(int error_number, const std::string& device_name,
                           size_t bytes) {
  // Which of the two it is depends on the kernel.
  if (error_number == ENOMEM || error_number == EAGAIN) {
    return absl::ResourceExhaustedError(absl::StrCat(
        device_name, ": cannot register ", bytes,
        " bytes of memory: ibv_reg_mr: out of lockable memory, RLIMIT_MEMLOCK "
        "is ",
        LockedMemoryLimit(), "; raise it (at least `ulimit -l ",
        (bytes + kUnitBytes - 1) / kUnitBytes, "`) or give CAP_IPC_LOCK"));
  }
  return ErrnoStatus(error_number,
                     {.object = absl::StrCat(device_name, ": cannot register ",
                                             bytes, " bytes of memory"),
                      .call = "ibv_reg_mr"});
}

}  // namespace

absl::StatusOr<MemoryRegion> MemoryRegion::Register(
    const ProtectionDomain& domain, std::span<std::byte> memory) {
  // A number: the macro compares it with flags of another enum.
  constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE;
  ibv_mr* mr = ibv_reg_mr(domain.get(), memory.data(), memory.size(), kAccess);
  if (mr == nullptr) {
    return RegisterError(errno, domain.device_name(), memory.size());
  }
  return MemoryRegion(mr);
}

}  // namespace weir::verbs
