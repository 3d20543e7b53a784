// What a test needs to see how the code fares with fewer rights: for children
// of death tests only, since rights that are gone stay gone.

#ifndef WEIR_TEST_SUPPORT_CAPABILITY_H_
#define WEIR_TEST_SUPPORT_CAPABILITY_H_

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace weir::testing {

// Drops capability `number` (CAP_NET_RAW, ...) of the calling thread; false if
// the kernel refuses. A thread that lacks it has nothing to drop.
inline bool DropCapability(unsigned number) {
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (syscall(SYS_capget, &header, sets.data()) != 0) return false;
  sets[number / 32].effective &= ~(1u << number % 32);
  return syscall(SYS_capset, &header, sets.data()) == 0;
}

}  // namespace weir::testing

#endif  // WEIR_TEST_SUPPORT_CAPABILITY_H_
