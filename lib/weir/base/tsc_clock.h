// The cycle counter as the data path's clock: read once a poll, converted on
// the control path only.

#ifndef WEIR_BASE_TSC_CLOCK_H_
#define WEIR_BASE_TSC_CLOCK_H_

#include <cstdint>

namespace weir {

// Ticks of the constant-rate counter of this core (TSC, CNTVCT). About 10 ns
// on x86-64: never per packet. Any thread.
inline uint64_t ReadTsc() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
#error "no constant-rate counter known for this processor"
#endif
}

// As ReadTsc, once what stands before it is done. Any thread.
inline uint64_t ReadTscInOrder() noexcept {
#if defined(__x86_64__)
  unsigned processor;
  return __builtin_ia32_rdtscp(&processor);
#else
  asm volatile("isb" ::: "memory");
  return ReadTsc();
#endif
}

// Ticks of ReadTsc() in a second, measured against CLOCK_MONOTONIC over 10 ms
// at the first call and remembered. Any thread.
uint64_t TscHz() noexcept;

}  // namespace weir

#endif  // WEIR_BASE_TSC_CLOCK_H_
