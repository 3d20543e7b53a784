// Several threads on the objects of one device, as the verbs API allows; of
// use above all under the thread sanitizer.

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <thread>
#include <utility>

#include "gtest/gtest.h"
#include "test/hca/verbs_rig.h"
#include "test/support/own_wire.h"

namespace weir::hca {
namespace {

constexpr size_t kFrames = 2000;

TEST(ThreadsTest, TwoEndsOfAWirePassEveryFrame) {
  VerbsRig a({.key = OwnWire("two-threads")});
  VerbsRig b({.key = OwnWire("two-threads")});
  for (VerbsRig* rig : {&a, &b}) {
    rig->MoveTo(IBV_QPS_RTS);
    rig->TakeEverything();
  }
  std::jthread sending([&a] {
    for (size_t i = 0; i < kFrames; ++i) {
      ASSERT_EQ(a.PostSend(i % 64, 60, IBV_SEND_SIGNALED), 0);
      while (a.Poll(1).empty()) {
      }
    }
  });
  for (size_t received = 0; received < kFrames; ++received) {
    ASSERT_EQ(b.PostReceive(received % 64), 0);
    while (b.Poll(1).empty()) {
    }
  }
  EXPECT_EQ(b.Counter("rx_delivered"), kFrames);
}

TEST(ThreadsTest, PostsFromOneThreadAndPollsFromTwo) {
  VerbsRig rig;
  rig.MoveTo(IBV_QPS_RTS);
  rig.TakeEverything();
  std::atomic<size_t> completed = 0;
  const auto poll = [&rig, &completed] {
    while (completed < kFrames) {
      std::array<ibv_wc, 8> done;
      const int got = ibv_poll_cq(rig.cq, 8, done.data());
      ASSERT_GE(got, 0);
      completed += static_cast<size_t>(got);
    }
  };
  std::jthread first(poll);
  std::jthread second(poll);
  for (size_t posted = 0; posted < kFrames;) {
    if (rig.PostReceive(posted % 64) == 0) ++posted;
  }
}

TEST(ThreadsTest, DestroysAQueuePairWhileAnotherIsPolled) {
  VerbsRig rig;
  rig.MoveTo(IBV_QPS_RTS);
  rig.TakeEverything();
  std::atomic<bool> stop = false;
  std::jthread polling([&rig, &stop] {
    while (!stop) {
      rig.PostReceive(0);
      rig.Poll(1);
    }
  });
  ibv_cq* cq = ibv_create_cq(rig.context, 64, nullptr, nullptr, 0);
  for (int i = 0; i < 50; ++i) {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = cq;
    attr.cap = rig.cap;
    attr.qp_type = IBV_QPT_RAW_PACKET;
    ibv_qp* qp = ibv_create_qp(rig.pd, &attr);
    ASSERT_NE(qp, nullptr);
    ibv_flow_attr sniff{};
    sniff.type = IBV_FLOW_ATTR_SNIFFER;
    sniff.port = 1;
    ibv_flow* flow = ibv_create_flow(qp, &sniff);
    ASSERT_NE(flow, nullptr);
    EXPECT_EQ(ibv_destroy_flow(flow), 0);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
  }
  stop = true;
  polling.join();
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
}

// A second queue pair of the rig's device, which gets copies of all frames.
struct Listener {
  explicit Listener(VerbsRig& rig)
      : cq(ibv_create_cq(rig.context, 256, nullptr, nullptr, 0)) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.cap = rig.cap;
    init.qp_type = IBV_QPT_RAW_PACKET;
    // The rig brings up whatever is in its place.
    ibv_qp* const other = std::exchange(rig.qp, ibv_create_qp(rig.pd, &init));
    rig.MoveTo(IBV_QPS_RTS);
    qp = std::exchange(rig.qp, other);
    ibv_flow_attr sniff{};
    sniff.type = IBV_FLOW_ATTR_SNIFFER;
    sniff.port = 1;
    flow = ibv_create_flow(qp, &sniff);
    EXPECT_NE(flow, nullptr);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() {
    EXPECT_EQ(ibv_destroy_flow(flow), 0);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    EXPECT_EQ(ibv_destroy_cq(cq), 0);
  }
  ibv_cq* cq;
  ibv_qp* qp;
  ibv_flow* flow;
};

int PostReceive(ibv_qp* qp, ibv_sge sge) {
  ibv_recv_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(qp, &wr, &bad);
}

// In one poll: a frame that fails a queue pair, then 63 for the listener, which
// is time enough for a reset.
TEST(ThreadsTest, KeepsAResetThatMeetsAFailure) {
  constexpr uint32_t kBytes = 9000;
  VerbsRig rig({.key = "null:,mtu=9000,size=9000"});
  rig.TakeEverything();
  Listener listener(rig);
  for (int i = 0; i < 50; ++i) {
    rig.MoveTo(IBV_QPS_RTS);
    ASSERT_EQ(PostReceive(rig.qp, {}), 0);
    for (int posted = 0; posted < 64; ++posted) {
      ASSERT_EQ(PostReceive(listener.qp, rig.Sge(0, kBytes)), 0);
    }
    std::jthread polling([&listener] {
      std::array<ibv_wc, 64> done;
      EXPECT_EQ(ibv_poll_cq(listener.cq, 64, done.data()), 64);
    });
    while (rig.state() != IBV_QPS_ERR) {
    }
    ASSERT_EQ(rig.Modify(IBV_QPS_RESET), 0);
    polling.join();
    ASSERT_EQ(rig.state(), IBV_QPS_RESET);
  }
}

}  // namespace
}  // namespace weir::hca
