// What tests of ports of several queues share: flows, and all queues polled in
// turn.

#ifndef WEIR_TEST_PORT_PORT_QUEUES_LAB_H_
#define WEIR_TEST_PORT_PORT_QUEUES_LAB_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/port/port_lab.h"
#include "test/support/frame.h"
#include "test/support/own_wire.h"

namespace weir::testing {

inline PortOptions Small(uint32_t queues) {
  return {
      .rx_queues = queues, .tx_queues = queues, .rx_depth = 64, .tx_depth = 64};
}

// Frame `number` of a flow of UDP; flows differ in a port and an address.
inline FrameBytes FlowFrame(uint32_t flow, uint32_t number) {
  const std::string source =
      "10.0." + std::to_string(flow / 200) + "." + std::to_string(flow % 200);
  return Frame()
      .Ipv4(source, "198.51.100.7", {.id = static_cast<uint16_t>(number)})
      .Udp(static_cast<uint16_t>(40000 + flow * 7919 % 9973), 53)
      .Payload(20, number)
      .Build();
}

// Receives by all queues, in turn, until none gives any more; frames of queue i
// are in element i.
using Received = std::vector<std::vector<FrameBytes>>;
inline void ReceiveAll(std::vector<RxQueue>& queues, Lcore& lcore,
                       Received& to) {
  to.resize(queues.size());
  // Twice empty: in a round a later queue may bring frames for an earlier one.
  for (int empty = 0; empty < 2;) {
    size_t count = 0;
    for (size_t i = 0; i < queues.size(); ++i) {
      count += ReceiveInto(queues[i], lcore, to[i]);
    }
    empty = count == 0 ? empty + 1 : 0;
  }
}

inline size_t Count(const Received& received) {
  size_t count = 0;
  for (const auto& queue : received) count += queue.size();
  return count;
}

// A wire between a port of one queue and one of several.
struct Wire {
  Wire(const std::string& name, uint32_t queues)
      : from(OpenOrDie(OwnWire(name), *lab.pool, Small(1))),
        to(OpenOrDie(OwnWire(name), *lab.pool, Small(queues))) {
    // Receives are posted from now on.
    Received none;
    ReceiveAll(to.rx, lab.lcore, none);
  }

  // The queue that got `frame`, nothing if none did.
  std::optional<size_t> QueueOf(const FrameBytes& frame) {
    EXPECT_TRUE(SendOne(from.tx[0], lab.lcore, frame));
    Received received;
    ReceiveAll(to.rx, lab.lcore, received);
    for (size_t i = 0; i < received.size(); ++i) {
      if (received[i] == std::vector<FrameBytes>{frame}) return i;
    }
    return std::nullopt;
  }

  Lab lab{4096};
  Port from;
  Port to;
};

}  // namespace weir::testing

#endif  // WEIR_TEST_PORT_PORT_QUEUES_LAB_H_
