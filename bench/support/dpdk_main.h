// Starts DPDK's environment for its side of a comparison: no huge pages, no
// devices, one lcore; the benchmarks make their own threads.

#ifndef WEIR_BENCH_SUPPORT_DPDK_MAIN_H_
#define WEIR_BENCH_SUPPORT_DPDK_MAIN_H_

#include <rte_eal.h>

#include <array>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"

namespace weir {

// The main() of a DPDK benchmark.
inline int RunDpdkBenches(int argc, char** argv) {
  std::vector<std::string> words = {argv[0], "--no-huge",      "--no-pci", "-m",
                                    "512",   "--no-telemetry", "-l",       "0"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  if (rte_eal_init(static_cast<int>(arguments.size()), arguments.data()) < 0) {
    return 1;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace weir

#endif  // WEIR_BENCH_SUPPORT_DPDK_MAIN_H_
