// What a received frame pays for the flow rules of its port: the lookup alone,
// by the number of rules and of masks among them, and rules that come and go.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "benchmark/benchmark.h"
#include "weir/hca/flow/steering.h"

namespace weir::hca {
namespace {

constexpr size_t kFrames = 4096;
constexpr size_t kFrameBytes = 60;

// Steering never looks into it.
QueuePair* SomeQueuePair() { return std::bit_cast<QueuePair*>(uintptr_t{64}); }

uint32_t AddressOf(size_t index) {
  // Odd multiples, so that rules do not follow each other in the table.
  return static_cast<uint32_t>(index * 0x9e3779b1u);
}

// The rule of an IPv4 destination; `mask_index` makes it look at the source,
// the protocol or the time to live besides, which all frames fulfil.
FlowRule RuleFor(size_t index, size_t mask_index) {
  FlowFields values{};
  FlowFields masks{};
  values.headers = masks.headers = kHasIpv4;
  values.ipv4.dst_ip = AddressOf(index);
  masks.ipv4.dst_ip = ~uint32_t{0};
  if (mask_index == 1) masks.ipv4.src_ip = ~uint32_t{0};
  if (mask_index == 2) masks.ipv4.tos = 0xff;
  if (mask_index == 3) masks.ethernet.dst_mac[0] = 0xff;
  return {.match = FlowMatch::Of(values, masks)};
}

// Frames to the first `addresses` destinations, in no order.
std::vector<std::byte> MakeFrames(size_t addresses) {
  std::vector<std::byte> frames(kFrames * kFrameBytes);
  uint64_t random = 1;
  for (size_t i = 0; i < kFrames; ++i) {
    std::byte* const frame = &frames[i * kFrameBytes];
    random = random * 6364136223846793005u + 1442695040888963407u;
    const uint32_t address = AddressOf((random >> 33) % addresses);
    frame[12] = std::byte{0x08};
    frame[14] = std::byte{0x45};
    frame[23] = std::byte{17};
    std::memcpy(frame + 30, &address, sizeof(address));
  }
  return frames;
}

void LookUp(benchmark::State& state) {
  const auto rules = static_cast<size_t>(state.range(0));
  const auto masks = static_cast<size_t>(state.range(1));
  Steering steering;
  std::vector<FlowUse> uses(std::max(rules, masks));
  for (size_t i = 0; i < uses.size(); ++i) {
    steering.Add(RuleFor(i, i % masks), {}, SomeQueuePair(), uses[i]);
  }
  const std::vector<std::byte> frames = MakeFrames(uses.size());
  FlowVerdict verdict;
  steering.ReserveForOneMore(verdict);
  size_t next = 0;
  size_t found = 0;
  for (auto _ : state) {
    steering.Find(std::span(frames).subspan(next * kFrameBytes, kFrameBytes),
                  false, verdict);
    found += verdict.targets.size();
    next = (next + 1) % kFrames;
  }
  if (found != static_cast<size_t>(state.iterations())) {
    state.SkipWithError("a frame found no rule");
  }
}
BENCHMARK(LookUp)
    ->ArgsProduct({{1, 100, 10000}, {1, 4}})
    ->ArgNames({"rules", "masks"});

// All rules added, and taken back in another order.
void ComeAndGo(benchmark::State& state) {
  const auto rules = static_cast<size_t>(state.range(0));
  std::vector<FlowUse> uses(rules);
  for (auto _ : state) {
    Steering steering;
    for (size_t i = 0; i < rules; ++i) {
      steering.Add(RuleFor(i, 0), {}, SomeQueuePair(), uses[i]);
    }
    for (size_t i = 0; i < rules; ++i) {
      benchmark::DoNotOptimize(steering.Remove(uses[i * 7919 % rules]));
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(ComeAndGo)->Arg(100)->Arg(10000)->ArgName("rules");

}  // namespace
}  // namespace weir::hca
