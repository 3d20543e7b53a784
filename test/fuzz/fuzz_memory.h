// Registered memory whose SGEs come from fuzz input: some good, some with a
// wrong key, some that reach beyond the region.

#ifndef WEIR_TEST_FUZZ_FUZZ_MEMORY_H_
#define WEIR_TEST_FUZZ_FUZZ_MEMORY_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "test/fuzz/input.h"

namespace weir::fuzz {

// Memory to send from: its content never changes.
class SourceMemory {
 public:
  explicit SourceMemory(ibv_pd* pd);
  SourceMemory(const SourceMemory&) = delete;
  SourceMemory& operator=(const SourceMemory&) = delete;
  ~SourceMemory() = default;

  // The next SGE of the input.
  ibv_sge Sge(Input& input) const;
  // `sge` moved inside of the memory.
  ibv_sge Clamp(ibv_sge sge) const;
  // The bytes of a frame of these; empty if it cannot be sent.
  std::string Gather(std::span<const ibv_sge> sges, bool any_key) const;

 private:
  std::vector<char> memory_;
  ibv_mr* mr_;
};

// Memory to receive into, in buffers that never overlap while they are posted.
class TargetMemory {
 public:
  explicit TargetMemory(ibv_pd* pd);
  TargetMemory(const TargetMemory&) = delete;
  TargetMemory& operator=(const TargetMemory&) = delete;
  ~TargetMemory() = default;

  // A buffer of its own, of a length that the input says.
  ibv_sge NextBuffer(Input& input);
  // What was received into `sges`. Fails if anything behind was written.
  std::string Take(std::span<const ibv_sge> sges, uint32_t bytes) const;

 private:
  std::vector<char> memory_;
  ibv_mr* mr_;
  size_t next_ = 0;
};

}  // namespace weir::fuzz

#endif  // WEIR_TEST_FUZZ_FUZZ_MEMORY_H_
