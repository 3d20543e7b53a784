// Queues of plain memory: what a pipeline receives is a list of frames, what it
// sends becomes one. The state outlives the queue, which moves into a pipeline.

#ifndef WEIR_TEST_SUPPORT_FAKE_QUEUES_H_
#define WEIR_TEST_SUPPORT_FAKE_QUEUES_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/pipeline/lcore.h"

namespace weir::testing {

using FrameBytes = std::vector<std::byte>;

// A pool whose every mbuf has to be home when the test is over, and an lcore.
struct Lab {
  explicit Lab(uint32_t mbufs = 512)
      : pool(*MbufPool::Create({.mbufs = mbufs, .best_rung = PageRung::k4KiB})),
        lcore(0, pool->cache(0)) {}

  std::unique_ptr<MbufPool> pool;
  Lcore lcore;
};

// `size` bytes, each of value `value`.
inline FrameBytes MakeFrame(size_t size, uint8_t value) {
  return FrameBytes(size, std::byte{value});
}

// A packet of one segment with the bytes of `frame`; there must be an mbuf.
inline Mbuf& MakePacket(MbufCache& cache, const FrameBytes& frame) {
  std::array<Mbuf*, 1> one{};
  cache.Alloc(one);
  one[0]->Reset(cache.pool().headroom_bytes());
  one[0]->SetLength(static_cast<uint32_t>(frame.size()));
  std::copy(frame.begin(), frame.end(), one[0]->data());
  return *one[0];
}

// The bytes of all segments of `packet`.
inline FrameBytes BytesOf(const Mbuf& packet) {
  FrameBytes bytes;
  for (const Mbuf* segment = &packet; segment != nullptr;
       segment = segment->next()) {
    bytes.insert(bytes.end(), segment->bytes().begin(), segment->bytes().end());
  }
  return bytes;
}

// What a FakeInlet gives, oldest first.
struct FakeTraffic {
  std::deque<FrameBytes> frames;
  // Packets of one Receive, at most.
  uint32_t burst = kDefaultBurst;
  // No frame will be added.
  bool ends = false;
};

class FakeInlet {
 public:
  static constexpr absl::string_view kName = "fake inlet";

  explicit FakeInlet(FakeTraffic& traffic) : traffic_(&traffic) {}

  void Receive(Burst& burst, Lcore& lcore) noexcept {
    while (burst.size() < traffic_->burst && !traffic_->frames.empty()) {
      burst.Adopt(MakePacket(lcore.cache(), traffic_->frames.front()));
      traffic_->frames.pop_front();
    }
  }

  bool finished() const noexcept {
    return traffic_->ends && traffic_->frames.empty();
  }

 private:
  FakeTraffic* traffic_;
};

// What a FakeOutlet was given, and how much more it takes.
struct FakeSink {
  std::vector<FrameBytes> frames;
  uint64_t room = UINT64_MAX;
  uint64_t reaps = 0;
  // Flush says no this many times.
  uint64_t flushes_refused = 0;
  bool closed = false;
};

class FakeOutlet {
 public:
  static constexpr absl::string_view kName = "fake outlet";

  explicit FakeOutlet(FakeSink& sink) : sink_(&sink) {}

  void Send(Burst& burst, Lcore& lcore) noexcept {
    Burst taken(lcore.cache());
    const auto count =
        static_cast<uint32_t>(std::min<uint64_t>(sink_->room, burst.size()));
    for (uint32_t i = 0; i < count; ++i) {
      sink_->frames.push_back(BytesOf(burst[i]));
      taken.Adopt(burst[i]);
    }
    burst.ReleaseFront(count);
    sink_->room -= count;
  }

  void Reap(Lcore&) noexcept { ++sink_->reaps; }

  bool Flush(Lcore&) noexcept {
    if (sink_->flushes_refused == 0) return true;
    --sink_->flushes_refused;
    return false;
  }

  void Close() noexcept { sink_->closed = true; }

 private:
  FakeSink* sink_;
};

}  // namespace weir::testing

#endif  // WEIR_TEST_SUPPORT_FAKE_QUEUES_H_
