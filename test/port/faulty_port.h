// A port of a soft device whose faults a test brings about.

#ifndef WEIR_TEST_PORT_FAULTY_PORT_H_
#define WEIR_TEST_PORT_FAULTY_PORT_H_

#include <array>
#include <chrono>
#include <string>

#include "gtest/gtest.h"
#include "weir/hca_control/hca_control.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/pipeline/lcore.h"
#include "weir/port/port.h"
#include "weir/port/port_device.h"
#include "weir/verbs/device.h"

namespace weir::testing {

struct Faulty {
  Faulty(const std::string& name, MbufPool& pool, const PortOptions& options)
      : device(PortDevice::Open(name).value()),
        port(Port::Open(device, pool, options).value()) {}

  void Inject(const char* fault) {
    std::array<char, 256> text{};
    EXPECT_EQ(weir_hca_inject(device.device()->context(), fault, text.data(),
                              text.size()),
              0)
        << text.data();
  }
  TxQueue& tx() { return port.tx[0]; }

  PortDevice device;
  Port port;
};

// Reaps until `condition` holds; false if it does not within 30 s.
template <typename Condition>
bool ReapUntil(TxQueue& queue, Lcore& lcore, Condition condition) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (Clock::now() > deadline) return false;
    lcore.UpdateClock();
    queue.Reap(lcore);
  }
  return true;
}

}  // namespace weir::testing

#endif  // WEIR_TEST_PORT_FAULTY_PORT_H_
