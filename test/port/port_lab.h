// What tests of ports share: a pool, an lcore, and the way from bytes to sent
// frames and from received frames to bytes.

#ifndef WEIR_TEST_PORT_PORT_LAB_H_
#define WEIR_TEST_PORT_PORT_LAB_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/fake_queues.h"
#include "weir/mbuf/burst.h"
#include "weir/port/port.h"

namespace weir::testing {

// `bytes` bytes that differ from frame to frame and from place to place.
inline FrameBytes NumberedFrame(size_t bytes, uint32_t number) {
  FrameBytes frame(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    frame[i] = std::byte(static_cast<uint8_t>(i * 31 + number * 7 + i / 251));
  }
  return frame;
}

// A frame in as many mbufs as its length needs, the first with the headroom of
// the pool; null if the pool is dry.
inline Mbuf* MakeChain(MbufCache& cache, const FrameBytes& frame) {
  const MbufPool& pool = cache.pool();
  Mbuf* first = nullptr;
  Mbuf* last = nullptr;
  size_t done = 0;
  while (first == nullptr || done < frame.size()) {
    std::array<Mbuf*, 1> one{};
    if (cache.Alloc(one) == 0) {
      if (first != nullptr) cache.FreePackets({&first, 1});
      return nullptr;
    }
    one[0]->Reset(first == nullptr ? pool.headroom_bytes() : 0);
    const size_t part =
        std::min<size_t>(frame.size() - done, one[0]->tailroom_bytes());
    one[0]->SetLength(static_cast<uint32_t>(part));
    std::memcpy(one[0]->data(), frame.data() + done, part);
    done += part;
    if (first == nullptr) {
      first = one[0];
    } else {
      first->Append(*last, *one[0]);
    }
    last = one[0];
  }
  return first;
}

// Polls once and appends what came to `frames`.
inline size_t ReceiveInto(RxQueue& queue, Lcore& lcore,
                          std::vector<FrameBytes>& frames) {
  lcore.UpdateClock();
  Burst burst(lcore.cache());
  queue.Receive(burst, lcore);
  for (const Mbuf* mbuf : burst.mbufs()) frames.push_back(BytesOf(*mbuf));
  return burst.size();
}

// Sends one frame; true if the queue took it.
inline bool SendOne(TxQueue& queue, Lcore& lcore, const FrameBytes& frame) {
  lcore.UpdateClock();
  Burst burst(lcore.cache());
  Mbuf* packet = MakeChain(lcore.cache(), frame);
  if (packet == nullptr) return false;
  burst.Adopt(*packet);
  queue.Send(burst, lcore);
  queue.Reap(lcore);
  return burst.empty();
}

// A port that opens, or the test ends in a crash that shows why not.
inline Port OpenOrDie(absl::string_view name, MbufPool& pool,
                      const PortOptions& options = {}) {
  auto port = Port::Open(name, pool, options);
  EXPECT_TRUE(port.ok()) << port.status();
  return *std::move(port);
}

// What the device of a port counts by that name.
inline uint64_t DeviceCount(const PortMonitor& monitor,
                            const std::string& name) {
  for (const NamedCount& count : monitor.device_counters()) {
    if (count.name == name) return count.value;
  }
  ADD_FAILURE() << "no counter named " << name;
  return 0;
}

// Value of a drop of queue number `index` of `monitor`, RX queues first.
inline uint64_t DropOf(const PortMonitor& monitor, size_t index,
                       const std::string& name) {
  const QueueStats stats = monitor.queues().at(index);
  for (const NamedCount& drop : stats.drops) {
    if (drop.name == name) return drop.value;
  }
  ADD_FAILURE() << "no drop named " << name;
  return 0;
}

}  // namespace weir::testing

#endif  // WEIR_TEST_PORT_PORT_LAB_H_
