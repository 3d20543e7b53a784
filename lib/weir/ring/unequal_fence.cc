#include "weir/ring/unequal_fence.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace weir {
namespace {

// Of enum membarrier_cmd, membarrier(2).
constexpr int kPrivateExpedited = 1 << 3;
constexpr int kRegisterPrivateExpedited = 1 << 4;

bool Membarrier(int command) noexcept {
  return syscall(SYS_membarrier, command, 0, 0) == 0;
}

}  // namespace

bool HeavyFence() noexcept {
  if (Membarrier(kPrivateExpedited)) return true;
  // The process has to say once that it will ask.
  return errno == EPERM && Membarrier(kRegisterPrivateExpedited) &&
         Membarrier(kPrivateExpedited);
}

}  // namespace weir
