// What the queues of a port cost together with the software HCA below them:
// time per packet over null devices, which make and swallow frames of 64 bytes.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <utility>

#include "benchmark/benchmark.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/net/ethernet.h"
#include "weir/pipeline/lcore.h"
#include "weir/port/port.h"

namespace weir {
namespace {

// One lcore, its pool and a port with queues of `depth` frames.
struct Bench {
  explicit Bench(uint32_t depth)
      : pool(*MbufPool::Create({.mbufs = 16384})),
        lcore(0, pool->cache(0)),
        port(Open(*pool, depth)) {}

  static Port Open(MbufPool& pool, uint32_t depth) {
    auto port =
        Port::Open("null:", pool, {.rx_depth = depth, .tx_depth = depth});
    if (!port.ok()) {
      std::cerr << port.status().message() << "\n";
      std::exit(1);
    }
    return *std::move(port);
  }

  std::unique_ptr<MbufPool> pool;
  Lcore lcore;
  Port port;
};

void Report(benchmark::State& state, uint64_t packets) {
  state.SetItemsProcessed(static_cast<int64_t>(packets));
  state.counters["ns/pkt"] = benchmark::Counter(
      static_cast<double>(packets) * 1e-9,
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// Receive and drop.
void BM_Receive(benchmark::State& state) {
  Bench bench(static_cast<uint32_t>(state.range(0)));
  Burst burst(bench.lcore.cache());
  uint64_t packets = 0;
  for (auto _ : state) {
    bench.port.rx[0].Receive(burst, bench.lcore);
    packets += burst.size();
    burst.Clear();
  }
  Report(state, packets);
}
BENCHMARK(BM_Receive)->Arg(128)->Arg(256)->Arg(512)->Arg(1024)->Arg(4096);

// Send `range(1)` packets at a time and take them back.
void BM_Send(benchmark::State& state) {
  Bench bench(static_cast<uint32_t>(state.range(0)));
  const auto size = static_cast<size_t>(state.range(1));
  Burst burst(bench.lcore.cache());
  std::array<Mbuf*, kMaxBurst> mbufs;
  uint64_t packets = 0;
  for (auto _ : state) {
    packets += bench.lcore.cache().Alloc({mbufs.data(), size});
    for (size_t i = 0; i < size; ++i) {
      mbufs[i]->Reset(128);
      mbufs[i]->SetLength(64);
      burst.Adopt(*mbufs[i]);
    }
    bench.port.tx[0].Send(burst, bench.lcore);
    bench.port.tx[0].Reap(bench.lcore);
  }
  Report(state, packets);
}
BENCHMARK(BM_Send)->Args({1024, 1})->Args({1024, 4})->Args({1024, 32});

// Receive, swap the addresses, send: l2fwd without its pipeline.
void BM_Forward(benchmark::State& state) {
  Bench bench(static_cast<uint32_t>(state.range(0)));
  Burst burst(bench.lcore.cache());
  uint64_t packets = 0;
  for (auto _ : state) {
    bench.port.tx[0].Reap(bench.lcore);
    bench.port.rx[0].Receive(burst, bench.lcore);
    packets += burst.size();
    for (Mbuf* mbuf : burst.mbufs()) {
      auto* header = mbuf->Header<net::EthernetHeader>(0);
      std::swap(header->destination, header->source);
    }
    bench.port.tx[0].Send(burst, bench.lcore);
  }
  Report(state, packets);
}
BENCHMARK(BM_Forward)->Arg(128)->Arg(256)->Arg(512)->Arg(1024)->Arg(4096);

}  // namespace
}  // namespace weir
