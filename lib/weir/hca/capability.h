// Rights of the calling thread beyond those of an ordinary user.

#ifndef WEIR_HCA_CAPABILITY_H_
#define WEIR_HCA_CAPABILITY_H_

namespace weir::hca {

// Their numbers in the kernel's sets: capabilities(7).
enum class Capability : unsigned {
  kIpcLock = 14,
  kSysAdmin = 21,
  kPerfmon = 38,
};

// Whether the calling thread has it. Any thread.
bool HasCapability(Capability capability) noexcept;

}  // namespace weir::hca

#endif  // WEIR_HCA_CAPABILITY_H_
