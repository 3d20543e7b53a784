// The hint that tells a core it is in a spin loop.

#ifndef WEIR_BASE_CPU_RELAX_H_
#define WEIR_BASE_CPU_RELAX_H_

namespace weir {

// PAUSE on x86-64, YIELD on ARM; nothing elsewhere. Any thread.
inline void CpuRelax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace weir

#endif  // WEIR_BASE_CPU_RELAX_H_
