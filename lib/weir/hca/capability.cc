#include "weir/hca/capability.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace weir::hca {
namespace {

// capget(2), in the third version of its structs.
struct CapabilityHeader {
  uint32_t version;
  int thread;
};
struct CapabilitySet {
  uint32_t effective;
  uint32_t permitted;
  uint32_t inheritable;
};
constexpr uint32_t kCapabilityVersion3 = 0x20080522;

}  // namespace

// Asks the kernel and not /proc, which a container may hide.
bool HasCapability(Capability capability) noexcept {
  const auto number = static_cast<unsigned>(capability);
  CapabilityHeader header = {.version = kCapabilityVersion3, .thread = 0};
  std::array<CapabilitySet, 2> sets{};
  return syscall(SYS_capget, &header, sets.data()) == 0 &&
         ((sets[number / 32].effective >> number % 32) & 1) != 0;
}

}  // namespace weir::hca
