// The other lcore of a benchmark.

#ifndef WEIR_BENCH_SUPPORT_PEER_THREAD_H_
#define WEIR_BENCH_SUPPORT_PEER_THREAD_H_

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <thread>
#include <utility>

namespace weir {

// Where the two sides of a benchmark run.
inline constexpr int kMainCpu = 0;
inline constexpr int kPeerCpu = 1;

// Binds the calling thread to processor `cpu`; without that processor it runs
// where it is.
inline void PinTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

// Calls `work` on kPeerCpu again and again until it is destroyed; pins the
// calling thread to kMainCpu.
class PeerThread {
 public:
  template <typename Work>
  explicit PeerThread(Work work) {
    PinTo(kMainCpu);
    thread_ = std::thread([this, work = std::move(work)]() mutable {
      PinTo(kPeerCpu);
      while (!stop_.load(std::memory_order_relaxed)) work();
    });
  }
  PeerThread(const PeerThread&) = delete;
  PeerThread& operator=(const PeerThread&) = delete;
  ~PeerThread() {
    stop_.store(true, std::memory_order_relaxed);
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace weir

#endif  // WEIR_BENCH_SUPPORT_PEER_THREAD_H_
