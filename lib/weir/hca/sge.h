// What send queues do with scatter/gather elements.

#ifndef WEIR_HCA_SGE_H_
#define WEIR_HCA_SGE_H_

#include <infiniband/verbs.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::hca {

// Not const, as iovec wants it; nothing is written there. Any thread.
inline std::byte* AddressOf(const ibv_sge& sge) noexcept {
  return std::bit_cast<std::byte*>(static_cast<uintptr_t>(sge.addr));
}

// Any thread.
inline uint64_t TotalBytes(std::span<const ibv_sge> sges) noexcept {
  uint64_t bytes = 0;
  for (const ibv_sge& sge : sges) bytes += sge.length;
  return bytes;
}

}  // namespace weir::hca

#endif  // WEIR_HCA_SGE_H_
