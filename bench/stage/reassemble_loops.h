// The loops that reassembly and its DPDK twin are measured by: the same source
// for both, compiled with the same flags.
//
// Fragments of `datagrams` datagrams come in turn, so that as many are
// incomplete at once; only the reassembly of bursts of 32 is timed, not how the
// frames are made (their headers are then in the cache, as behind a parser) nor
// how datagrams are freed.
//
// `Side` is made for a number of datagrams and has
//   Make(FragmentPlan)  a frame, added to the burst
//   Reassemble()        the burst; what is complete is kept
//   Free()              frees that and returns how many there were

#ifndef WEIR_BENCH_STAGE_REASSEMBLE_LOOPS_H_
#define WEIR_BENCH_STAGE_REASSEMBLE_LOOPS_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/support/peer_thread.h"
#include "bench/support/samples.h"
#include "benchmark/benchmark.h"

namespace weir {

inline constexpr size_t kReassembleBurst = 32;
// Data of a fragment: so little that frames of 65,536 datagrams fit in memory.
// No byte of it is read.
inline constexpr uint32_t kFragmentBytes = 64;
inline constexpr uint32_t kIpv4At = 14;
inline constexpr uint32_t kIpv4DataAt = kIpv4At + 20;
inline constexpr uint32_t kIpv6DataAt = kIpv4At + 40 + 8;

enum class Order { kForward, kReverse, kShuffled };

struct FragmentPlan {
  uint32_t datagram;
  // Counts how often the same datagrams came.
  uint32_t turn;
  uint32_t number;
  bool last;
};

// Writes Ethernet, IP and (of IPv6) fragment headers at `frame`, UDP over
// IPv4 with addresses from the plan; the header checksum is not looked at.
inline void WriteHeaders(std::byte* frame, const FragmentPlan& plan,
                         bool is_ipv6) {
  const auto put = [&](size_t at, uint32_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) {
      frame[at + i] = static_cast<std::byte>(value >> 8 * (bytes - 1 - i));
    }
  };
  std::memset(frame, 2, 12);
  const uint32_t begin = plan.number * kFragmentBytes;
  if (is_ipv6) {
    put(12, 0x86dd, 2);
    put(14, 0x60000000, 4);
    put(18, 8 + kFragmentBytes, 2);
    put(20, 44 << 8 | 64, 2);
    std::memset(frame + 22, 0x20, 32);
    put(34, plan.datagram, 4);
    put(54, 253 << 8, 2);
    put(56, begin | (plan.last ? 0 : 1), 2);
    put(58, plan.turn, 4);
    return;
  }
  put(12, 0x0800, 2);
  put(14, 0x4500, 2);
  put(16, 20 + kFragmentBytes, 2);
  put(18, plan.turn & 0xffff, 2);
  put(20, begin / 8 | (plan.last ? 0 : 0x2000), 2);
  put(22, 64 << 8 | 253, 2);
  put(24, 0, 2);
  put(26, 10U << 24 | plan.datagram, 4);
  put(30, 0x0a000001, 4);
}

// Which fragment of each datagram comes when.
inline std::vector<uint8_t> PlanOrder(uint32_t datagrams, uint32_t fragments,
                                      Order order) {
  std::vector<uint8_t> plan(size_t{datagrams} * fragments);
  std::mt19937 random(1);
  for (uint32_t i = 0; i < datagrams; ++i) {
    uint8_t* const own = plan.data() + size_t{i} * fragments;
    for (uint32_t k = 0; k < fragments; ++k) {
      own[k] = static_cast<uint8_t>(order == Order::kReverse ? fragments - 1 - k
                                                             : k);
    }
    if (order == Order::kShuffled) {
      std::shuffle(own, own + fragments, random);
    }
  }
  return plan;
}

// Per fragment.
template <typename Side>
void ReassembleAll(benchmark::State& state, uint32_t datagrams,
                   uint32_t fragments, Order order) {
  PinTo(kMainCpu);
  Side side(datagrams, fragments);
  const std::vector<uint8_t> plan = PlanOrder(datagrams, fragments, order);
  const uint32_t turns = std::max(1U, 8192 / (datagrams * fragments));
  std::vector<double> samples;
  uint32_t turn = 0;
  for (auto _ : state) {
    std::chrono::nanoseconds spent(0);
    uint64_t complete = 0;
    size_t in_burst = 0;
    const auto flush = [&] {
      Clobber();
      const auto begin = std::chrono::steady_clock::now();
      side.Reassemble();
      spent += std::chrono::steady_clock::now() - begin;
      complete += side.Free();
      in_burst = 0;
    };
    for (uint32_t i = 0; i < turns; ++i, ++turn) {
      for (uint32_t k = 0; k < fragments; ++k) {
        for (uint32_t d = 0; d < datagrams; ++d) {
          const uint32_t number = plan[size_t{d} * fragments + k];
          side.Make({d, turn, number, number + 1 == fragments});
          if (++in_burst == kReassembleBurst) flush();
        }
      }
    }
    if (in_burst != 0) flush();
    if (complete != uint64_t{datagrams} * turns) {
      state.SkipWithError("not all datagrams were completed");
      return;
    }
    samples.push_back(static_cast<double>(spent.count()) /
                      (double(datagrams) * fragments * turns));
  }
  std::sort(samples.begin(), samples.end());
  state.counters["min_ns"] = samples.front();
  state.counters["median_ns"] = samples[samples.size() / 2];
  state.counters["p99_ns"] = samples[samples.size() * 99 / 100];
}

// Registers all sizes of `Side` up to `most` fragments as `name`/....
template <typename Side>
void RegisterReassembly(const std::string& name, uint32_t most) {
  constexpr std::array<std::pair<const char*, Order>, 3> kOrders = {{
      {"forward", Order::kForward},
      {"reverse", Order::kReverse},
      {"shuffled", Order::kShuffled},
  }};
  for (const uint32_t fragments : {2, 6, 44}) {
    if (fragments > most) continue;
    for (const uint32_t datagrams : {1, 64, 4096, 65536}) {
      if (datagrams * fragments > 65536 * 6) continue;
      for (const auto& [text, order] : kOrders) {
        const std::string full = name + "/" + std::to_string(fragments) +
                                 "_of/" + std::to_string(datagrams) + "/" +
                                 text;
        benchmark::RegisterBenchmark(
            full.c_str(), [=, kept = order](benchmark::State& state) {
              ReassembleAll<Side>(state, datagrams, fragments, kept);
            });
      }
    }
  }
}

}  // namespace weir

#endif  // WEIR_BENCH_STAGE_REASSEMBLE_LOOPS_H_
