// How long a packet waits for an lcore that sleeps: the time from sending it to
// having it back from a pipeline that does nothing but send back what it
// receives, with pauses in between that are long enough to fall asleep in.
//
//   wake_bench sleep|poll ring
//   wake_bench sleep|poll PROBE_PORT ECHO_PORT
//
// The main thread probes and spins on one lcore, the pipeline is on another.
// `poll` keeps that polling: the difference is the wake-up.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/pipeline.h"
#include "weir/port/port.h"
#include "weir/runtime/runtime.h"
#include "weir/stage/packet_ring.h"
#include "weir/stage/transmit.h"
#include "weir/topo/pin.h"
#include "weir/topo/topology.h"

namespace weir {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSamples = 2000;
constexpr uint32_t kFrameBytes = 60;
// An answer that takes longer is lost.
constexpr std::chrono::seconds kPatience{5};

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "%s\n", std::string(value.status().message()).c_str());
  std::exit(1);
}

// Sends a frame by `to` and spins until one comes by `from`.
template <typename To, typename From>
Clock::duration RoundTrip(To& to, From& from, Lcore& lcore) {
  Burst burst(lcore.cache());
  std::array<Mbuf*, 1> one{};
  if (lcore.cache().Alloc(one) != 1) return kPatience;
  one[0]->Reset(lcore.cache().pool().headroom_bytes());
  one[0]->SetLength(kFrameBytes);
  std::fill_n(one[0]->data(), kFrameBytes, std::byte{2});
  burst.Adopt(*one[0]);
  const auto begin = Clock::now();
  to.Send(burst, lcore);
  while (burst.empty()) {
    lcore.UpdateClock();
    to.Reap(lcore);
    from.Receive(burst, lcore);
    if (Clock::now() - begin > kPatience) break;
  }
  return Clock::now() - begin;
}

template <typename To, typename From>
void Measure(To& to, From& from, Lcore& lcore) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> pause_us(200, 1500);
  std::vector<double> took_us;
  for (int i = 0; i < kSamples; ++i) {
    const auto resume =
        Clock::now() + std::chrono::microseconds(pause_us(random));
    while (Clock::now() < resume) {
      lcore.UpdateClock();
      Burst nothing(lcore.cache());
      from.Receive(nothing, lcore);
    }
    const std::chrono::duration<double, std::micro> took =
        RoundTrip(to, from, lcore);
    took_us.push_back(took.count());
  }
  std::ranges::sort(took_us);
  const auto at = [&took_us](double share) {
    return took_us[static_cast<size_t>(share *
                                       static_cast<double>(kSamples - 1))];
  };
  std::printf("min %.1f  p50 %.1f  p90 %.1f  p99 %.1f  p99.9 %.1f  max %.1f us",
              at(0), at(0.5), at(0.9), at(0.99), at(0.999), at(1));
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2 || arguments.size() > 3) {
    std::fprintf(stderr, "want sleep|poll, then ring or two ports\n");
    return 1;
  }
  const WhenIdle when_idle =
      arguments[0] == "poll" ? WhenIdle::kPoll : WhenIdle::kSleep;
  const Topology topology = OrDie(Topology::Read());
  const std::vector<LcoreInfo> lcores(topology.lcores().begin(),
                                      topology.lcores().end());
  // One cache more, for the thread that probes.
  const auto caches = static_cast<uint32_t>(lcores.size()) + 1;
  const auto pool = OrDie(MbufPool::Create({.mbufs = 8192, .caches = caches}));
  Lcore prober(lcores.front().id, pool->cache(caches - 1));
  const uint32_t back = lcores.back().id;
  const auto runtime =
      OrDie(Runtime::Create(Placer(lcores, {&back, 1}), *pool, when_idle));
  if (!PinThisThread(prober.id()).ok()) return 1;
  if (arguments.size() == 2) {
    auto [to, echo_from] = MakeRing<64>();
    auto [echo_to, from] = MakeRing<64>();
    runtime->Launch({}, Pipeline{std::move(echo_from), std::move(echo_to)});
    if (!runtime->Start().ok()) return 1;
    Measure(to, from, prober);
    runtime->Stop();
  } else {
    Port probe = OrDie(Port::Open(arguments[1], *pool));
    Port echo = OrDie(Port::Open(arguments[2], *pool));
    runtime->Launch(
        {}, Pipeline{std::move(echo.rx[0]), Transmit{std::move(echo.tx[0])}});
    if (!runtime->Start().ok()) return 1;
    Measure(probe.tx[0], probe.rx[0], prober);
    runtime->Stop();
  }
  const LcoreSnapshot lcore = runtime->Snapshot()[0];
  std::printf("  (%llu sleeps)\n",
              static_cast<unsigned long long>(lcore.sleeps));
  return 0;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::Main({argv + 1, argv + argc}); }
