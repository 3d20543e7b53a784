// Measuring on a machine that others use too: many short samples, of which the
// smallest and the median are reported. A sample is short enough that most are
// not interrupted.

#ifndef WEIR_BENCH_SUPPORT_SAMPLES_H_
#define WEIR_BENCH_SUPPORT_SAMPLES_H_

#include <algorithm>
#include <chrono>
#include <vector>

#include "benchmark/benchmark.h"

namespace weir {

// Keeps what is in memory out of the optimiser's reach.
inline void Clobber() { asm volatile("" ::: "memory"); }

class Samples {
 public:
  // Times one call of `work`, which handles `objects` objects.
  template <typename Work>
  void Take(double objects, Work&& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::nano> spent =
        std::chrono::steady_clock::now() - begin;
    ns_.push_back(spent.count() / objects);
  }

  // Nanoseconds an object, as the counters "min_ns", "median_ns" and "p99_ns",
  // which is what 99 of 100 samples stay below.
  void Report(benchmark::State& state) {
    std::sort(ns_.begin(), ns_.end());
    state.counters["min_ns"] = ns_.front();
    state.counters["median_ns"] = ns_[ns_.size() / 2];
    state.counters["p99_ns"] = ns_[ns_.size() * 99 / 100];
  }

 private:
  std::vector<double> ns_;
};

}  // namespace weir

#endif  // WEIR_BENCH_SUPPORT_SAMPLES_H_
