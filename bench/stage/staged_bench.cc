#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <utility>

#include "bench/stage/staged_loops.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/net/ethernet.h"
#include "weir/pipeline/each.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/pipeline.h"
#include "weir/port/port.h"
#include "weir/stage/packet_ring.h"
#include "weir/stage/transmit.h"

namespace weir {
namespace {

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::cerr << value.status().message() << "\n";
  std::exit(1);
}

void SwapMacs(Mbuf& mbuf) noexcept {
  auto* header = mbuf.Header<net::EthernetHeader>(0);
  std::swap(header->destination, header->source);
}

// A ring between one pipeline and one other.
struct Spsc {
  using To = ToRing;
  using From = FromRing;
  static RingEnds Make() { return Must(MakeRing({.capacity = kStagedRing})); }
};
// A ring that others could share.
struct Mpmc {
  using To = ToSharedRing;
  using From = FromSharedRing;
  struct Ends {
    ToSharedRing to;
    FromSharedRing from;
  };
  static Ends Make() {
    const SharedRing ring = Must(SharedRing::Create({.capacity = kStagedRing}));
    return {ring.MakeOutlet(), ring.MakeInlet()};
  }
};

// What l2fwd --workers=1 runs in one direction.
template <typename Ring>
class Path {
 public:
  Path() : Path(Ring::Make(), Ring::Make()) {}

  void Receive() { Poll(receive_, port_lcore_); }
  void Work() { Poll(work_, worker_lcore_); }
  size_t Send() { return Poll(send_, port_lcore_); }

 private:
  static constexpr auto kSwap = [](Mbuf& mbuf, Lcore&) noexcept {
    SwapMacs(mbuf);
    return Verdict::Pass();
  };

  template <typename Ends>
  Path(Ends there, Ends back)
      : pool_(Must(MbufPool::Create({.mbufs = 8192, .caches = 2}))),
        port_lcore_(0, pool_->cache(0)),
        worker_lcore_(1, pool_->cache(1)),
        port_(Must(
            Port::Open("null:", *pool_, {.rx_depth = 128, .tx_depth = 256}))),
        receive_(std::move(port_.rx[0]), std::move(there.to)),
        work_(std::move(there.from), Each("swap-macs", kSwap),
              std::move(back.to)),
        send_(std::move(back.from), Transmit(std::move(port_.tx[0]))) {}

  // As a worker does.
  template <typename Task>
  static uint32_t Poll(Task& task, Lcore& lcore) {
    const uint32_t moved = task.Poll(lcore);
    lcore.UpdateClock();
    return moved;
  }

  std::unique_ptr<MbufPool> pool_;
  Lcore port_lcore_;
  Lcore worker_lcore_;
  Port port_;
  Pipeline<RxQueue, typename Ring::To> receive_;
  Pipeline<typename Ring::From, decltype(Each("", kSwap)), typename Ring::To>
      work_;
  Pipeline<typename Ring::From, Transmit<TxQueue>> send_;
};

BENCHMARK(StagedOneLcore<Path<Spsc>>)->Name("staged/spsc/one_lcore");
BENCHMARK(StagedTwoLcores<Path<Spsc>>)->Name("staged/spsc/two_lcores");
BENCHMARK(StagedOneLcore<Path<Mpmc>>)->Name("staged/mpmc/one_lcore");
BENCHMARK(StagedTwoLcores<Path<Mpmc>>)->Name("staged/mpmc/two_lcores");

}  // namespace
}  // namespace weir
