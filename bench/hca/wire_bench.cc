// What a frame costs from one end of a wire to the others: on one lcore, from
// one lcore to another, to several ends of a hub, and how long it takes alone.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/support/peer_thread.h"
#include "bench/support/samples.h"
#include "benchmark/benchmark.h"
#include "test/support/own_wire.h"
#include "weir/hca/backend/wire/wire.h"

namespace weir::hca {
namespace {

constexpr size_t kBurst = 32;
constexpr size_t kSampleFrames = 32 * kBurst;

std::unique_ptr<Backend> MustOpen() {
  return OpenWire(ParseDeviceKey(OwnWire("bench")).value()).value();
}

// A burst of equal frames of `size` bytes.
class FrameBurst {
 public:
  explicit FrameBurst(size_t size)
      : bytes_(size, std::byte{0x5a}), segment_{bytes_.data(), size} {
    frames_.assign(kBurst, {.segments = {&segment_, 1},
                            .length_bytes = static_cast<uint32_t>(size)});
  }
  FrameBurst(const FrameBurst&) = delete;
  FrameBurst& operator=(const FrameBurst&) = delete;
  std::span<const TxFrame> frames() const { return frames_; }

 private:
  std::vector<std::byte> bytes_;
  iovec segment_;
  std::vector<TxFrame> frames_;
};

// Receives what there is, touching what a receiver touches first.
size_t TakeBurst(Backend& end) {
  const std::span<const RxFrame> frames = end.Receive(kBurst);
  uint64_t sum = 0;
  for (const RxFrame& frame : frames) {
    sum += std::to_integer<uint64_t>(*frame.data) + frame.length_bytes;
  }
  benchmark::DoNotOptimize(sum);
  end.Consume(frames.size());
  return frames.size();
}

void BM_OneLcore(benchmark::State& state) {
  PinTo(kMainCpu);
  const auto a = MustOpen();
  std::vector<std::unique_ptr<Backend>> others(
      static_cast<size_t>(state.range(1)));
  for (auto& other : others) other = MustOpen();
  const FrameBurst burst(static_cast<size_t>(state.range(0)));
  Samples samples;
  for (auto _ : state) {
    samples.Take(kSampleFrames, [&] {
      for (size_t i = 0; i < kSampleFrames; i += kBurst) {
        a->Transmit(burst.frames());
        for (const auto& other : others) TakeBurst(*other);
      }
    });
  }
  samples.Report(state);
}
BENCHMARK(BM_OneLcore)
    ->ArgNames({"bytes", "receivers"})
    ->Args({64, 1})
    ->Args({1518, 1})
    ->Args({64, 2})
    ->Args({64, 15});

void BM_TwoLcores(benchmark::State& state) {
  const auto a = MustOpen();
  const auto b = MustOpen();
  const FrameBurst burst(static_cast<size_t>(state.range(0)));
  PeerThread sender([&] { a->Transmit(burst.frames()); });
  Samples samples;
  for (auto _ : state) {
    samples.Take(kSampleFrames, [&] {
      for (size_t got = 0; got < kSampleFrames;) got += TakeBurst(*b);
    });
  }
  samples.Report(state);
}
BENCHMARK(BM_TwoLcores)->ArgName("bytes")->Arg(64)->Arg(1518);

// Half of a round trip of one frame.
void BM_OneWay(benchmark::State& state) {
  constexpr size_t kTrips = 1000;
  const auto a = MustOpen();
  const auto b = MustOpen();
  const FrameBurst burst(static_cast<size_t>(state.range(0)));
  const std::span<const TxFrame> one = burst.frames().first(1);
  PeerThread echo([&] {
    if (TakeBurst(*b) == 1) b->Transmit(one);
  });
  Samples samples;
  for (auto _ : state) {
    samples.Take(2 * kTrips, [&] {
      for (size_t i = 0; i < kTrips; ++i) {
        a->Transmit(one);
        while (TakeBurst(*a) == 0) Clobber();
      }
    });
  }
  samples.Report(state);
}
BENCHMARK(BM_OneWay)->ArgName("bytes")->Arg(64)->Arg(1518);

}  // namespace
}  // namespace weir::hca
