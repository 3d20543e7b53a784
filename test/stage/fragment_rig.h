// The stage Fragment with parsed frames of any segments in front and the bytes
// of what it makes behind.

#ifndef WEIR_TEST_STAGE_FRAGMENT_RIG_H_
#define WEIR_TEST_STAGE_FRAGMENT_RIG_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/fake_queues.h"
#include "test/support/frame.h"
#include "test/support/naive_fragments.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/stage/fragment.h"

namespace weir::testing {

// A packet with the bytes of `frame` in segments of `sizes` bytes, the last
// size for all that follow; parsed, if it is IP.
inline Mbuf& MakeSegments(MbufCache& cache, const Bytes& frame,
                          const std::vector<uint32_t>& sizes) {
  Mbuf* first = nullptr;
  Mbuf* last = nullptr;
  size_t done = 0;
  for (size_t i = 0; done < frame.size() || first == nullptr; ++i) {
    const size_t size = std::min<size_t>(sizes[std::min(i, sizes.size() - 1)],
                                         frame.size() - done);
    const auto begin = frame.begin() + static_cast<ptrdiff_t>(done);
    Mbuf& segment = MakePacket(
        cache, FrameBytes(begin, begin + static_cast<ptrdiff_t>(size)));
    done += size;
    if (first == nullptr) {
      first = &segment;
    } else {
      first->Append(*last, segment);
    }
    last = &segment;
  }
  first->info() = DescribeNaively(frame);
  return *first;
}

class FragmentRig {
 public:
  explicit FragmentRig(const FragmentOptions& options, uint32_t mbufs = 4096,
                       uint32_t chunk_bytes = 2048)
      : pool_(*MbufPool::Create({.mbufs = mbufs,
                                 .chunk_bytes = chunk_bytes,
                                 .best_rung = PageRung::k4KiB})),
        stage_(*Fragment::Create(options)) {}
  FragmentRig(const FragmentRig&) = delete;
  FragmentRig& operator=(const FragmentRig&) = delete;
  ~FragmentRig() {
    ExpectConserved();
    EXPECT_EQ(pool_->used_mbufs(), 0u);
  }

  Lcore& lcore() { return lcore_; }
  MbufCache& cache() { return lcore_.cache(); }
  MbufPool& pool() { return *pool_; }
  Fragment& stage() { return stage_; }

  // One call, after which `burst` is as good as gone.
  void Step(Burst& burst) {
    came_ += burst.size();
    stage_.OnBurst(burst, lcore_);
    went_ += burst.size();
  }

  // A burst of packets through the stage, and what came out; the bursts it
  // took are in bursts().
  std::vector<Bytes> Run(const std::vector<Mbuf*>& packets) {
    Burst burst(cache());
    for (Mbuf* packet : packets) burst.Adopt(*packet);
    came_ += packets.size();
    std::vector<Bytes> frames;
    bursts_ = 0;
    do {
      ++bursts_;
      stage_.OnBurst(burst, lcore_);
      ExpectConserved(burst.size());
      for (Mbuf* packet : burst.mbufs()) {
        frames.push_back(BytesOf(*packet));
        infos_.push_back(packet->info());
        most_segments_ = std::max(most_segments_, packet->segments());
        ++went_;
      }
      burst.Clear();
    } while (stage_.more());
    return frames;
  }
  // A frame in as few segments as chunks allow.
  std::vector<Bytes> Run(const Bytes& frame) {
    return Run({&MakeSegments(cache(), frame, {1900})});
  }

  uint64_t drops(Fragment::Drop reason) const {
    return stage_.counts().drops[static_cast<size_t>(reason)].value();
  }
  uint64_t all_drops() const {
    uint64_t sum = 0;
    for (const Counter& drop : stage_.counts().drops) sum += drop.value();
    return sum;
  }
  int bursts() const { return bursts_; }
  uint32_t most_segments() const { return most_segments_; }
  // What is said of each frame that came out so far.
  const std::vector<PacketInfo>& infos() const { return infos_; }

  // The law of stages that count for themselves.
  void ExpectConserved(uint64_t going = 0) const {
    const auto& counts = stage_.counts();
    EXPECT_EQ(came_ + counts.made.value(),
              went_ + going + counts.taken.value() + counts.held.value() +
                  all_drops());
  }

 private:
  std::unique_ptr<MbufPool> pool_;
  Lcore lcore_{0, pool_->cache(0)};
  Fragment stage_;
  uint64_t came_ = 0;
  uint64_t went_ = 0;
  int bursts_ = 0;
  uint32_t most_segments_ = 0;
  std::vector<PacketInfo> infos_;
};

}  // namespace weir::testing

#endif  // WEIR_TEST_STAGE_FRAGMENT_RIG_H_
