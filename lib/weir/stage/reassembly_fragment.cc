#include "weir/stage/reassembly_fragment.h"

#include <sys/random.h>

#include <random>

namespace weir {

ReassemblySeed RandomReassemblySeed() {
  ReassemblySeed seed{};
  if (getrandom(seed.data(), sizeof seed, 0) == sizeof seed) return seed;
  std::random_device random;
  for (uint64_t& number : seed) {
    number = uint64_t{random()} << 32 | uint64_t{random()};
  }
  return seed;
}

}  // namespace weir
