// Work queues and what spreads frames over them, made as a program would.

#ifndef WEIR_TEST_CONFORMANCE_CHECKS_SPREAD_H_
#define WEIR_TEST_CONFORMANCE_CHECKS_SPREAD_H_

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "test/conformance/rig.h"

namespace weir::conformance {

inline constexpr uint64_t kIpv4Udp =
    IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_SRC_PORT_UDP |
    IBV_RX_HASH_DST_PORT_UDP;

// The key of Microsoft's "Verifying the RSS Hash Calculation".
std::array<uint8_t, 40> RssKey();

ibv_wq_init_attr WqAttributes(Rig& rig, ibv_cq* cq);
// 0 or an errno value.
int ModifyWq(ibv_wq* wq, ibv_wq_state to);

// A work queue with a CQ of its own.
class TestWq {
 public:
  explicit TestWq(Rig& rig, ibv_wq_state state = IBV_WQS_RDY);
  TestWq(const TestWq&) = delete;
  TestWq& operator=(const TestWq&) = delete;
  ~TestWq();

  int PostRecv(size_t index);

  TestCq cq;
  ibv_wq* wq = nullptr;
  uint32_t max_wr = 0;

 private:
  Rig& rig_;
};

// What ibv_create_qp_ex is asked for; `key` is used by the call.
ibv_qp_init_attr_ex RssAttributes(Rig& rig, ibv_rwq_ind_table* table,
                                  uint64_t fields,
                                  std::array<uint8_t, 40>& key);

// Work queues, a table of them in order, and the QP that spreads frames over
// it by `fields`.
class Spread {
 public:
  Spread(Rig& rig, unsigned log_size, uint64_t fields);
  Spread(const Spread&) = delete;
  Spread& operator=(const Spread&) = delete;
  ~Spread();

  bool ok() const { return qp != nullptr; }

  // A rule, and `count` receives in each work queue.
  void Take(size_t count);

  std::vector<std::unique_ptr<TestWq>> wqs;
  ibv_rwq_ind_table* table = nullptr;
  ibv_qp* qp = nullptr;
  ibv_flow* flow = nullptr;
};

}  // namespace weir::conformance

#endif  // WEIR_TEST_CONFORMANCE_CHECKS_SPREAD_H_
