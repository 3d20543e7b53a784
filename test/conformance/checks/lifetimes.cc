// Objects that go while others still use or fill them, in the orders that
// programs are known to do it.

#include <infiniband/verbs.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

void RegionMayGoBeforeItsQp(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 4);
  ASSERT_EQ(qp.PostSend(8, PlainFrame(60)), 0);
  ASSERT_EQ(qp.Poll(1).size(), 1u);
  EXPECT_EQ(ibv_dereg_mr(rig.mr), 0);
  rig.mr = nullptr;
}

void QpMayGoWithReceivesPosted(Lab& lab) {
  Rig rig(lab, AnyFrames(lab, 1));
  TestQp second(rig);
  ASSERT_TRUE(second.ok());
  {
    TestQp first(rig);
    ASSERT_TRUE(first.ok());
    first.PostRecvs(0, 8);
    first.Take();
  }
  second.PostRecvs(8, 1);
  second.Take();
  rig.Deliver();
  const auto done = second.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].wr_id, 8u);
}

void QpTakesItsCompletionsAlong(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig);
  {
    TestQp qp(rig, cq, cq);
    ASSERT_TRUE(qp.ok());
    for (size_t i = 0; i < 3; ++i) ASSERT_EQ(qp.PostSend(i, PlainFrame(60)), 0);
    if ((lab.facts().gives & kObserve) != 0) lab.Observe(3);
  }
  EXPECT_TRUE(cq.PollTimes(10).empty());
}

void NumbersOfQpsThatWentMayComeBack(Lab& lab) {
  Rig rig(lab);
  for (int i = 0; i < 50; ++i) {
    TestQp qp(rig);
    ASSERT_TRUE(qp.ok());
    qp.Take();
  }
}

// perftest does.
void ContextMayGoWithObjectsAlive(Lab& lab) {
  lab.Prepare({});
  ibv_context* const context = OpenDevice(lab.device());
  ASSERT_NE(context, nullptr);
  ibv_pd* const pd = ibv_alloc_pd(context);
  ibv_cq* const cq = ibv_create_cq(context, 16, nullptr, nullptr, 0);
  ASSERT_NE(cq, nullptr);
  ibv_qp_init_attr attr = InitAttributes(cq, cq);
  ibv_qp* const qp = ibv_create_qp(pd, &attr);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(ibv_close_device(context), 0);
  // What was left behind is still there to be destroyed.
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

void ClosedContextTakesNoFrames(Lab& lab) {
  Rig rig(lab);
  TestQp witness(rig);
  ASSERT_TRUE(witness.ok());
  witness.PostRecvs(0, 2);
  {
    Rig other(lab);
    TestQp qp(other);
    ASSERT_TRUE(qp.ok());
    qp.PostRecvs(0, 1);
    qp.Take(TakeAll());
  }
  witness.Take();
  lab.Inject(PlainFrame(60));
  EXPECT_EQ(witness.Receive(1), PlainFrames(1));
}

void OtherContextGoesOn(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  { Rig other(lab); }
  ASSERT_EQ(qp.PostSend(0, PlainFrame(60)), 0);
  EXPECT_EQ(qp.Poll(1).size(), 1u);
}

void ObjectsMayComeAndGoUnderTraffic(Lab& lab) {
  Rig rig(lab);
  TestQp busy(rig);
  ASSERT_TRUE(busy.ok());
  std::atomic<bool> stop = false;
  std::thread worker([&] {
    while (!stop) {
      EXPECT_EQ(busy.PostSend(0, PlainFrame(60)), 0);
      EXPECT_EQ(busy.Poll(1).size(), 1u);
    }
  });
  for (int i = 0; i < 50; ++i) {
    TestQp qp(rig);
    EXPECT_TRUE(qp.ok());
    qp.PostRecvs(8, 2);
    qp.Take();
  }
  stop = true;
  worker.join();
}

void RulesMayComeAndGoUnderTraffic(Lab& lab) {
  Rig rig(lab, AnyFrames(lab, 64));
  TestQp qp(rig);
  TestQp other(rig);
  ASSERT_TRUE(qp.ok() && other.ok());
  qp.Take();
  qp.PostRecvs(0, 64);
  rig.Deliver();
  std::atomic<bool> stop = false;
  std::thread worker([&] {
    while (!stop) {
      ibv_flow* const flow =
          TakeTo(net::MacAddress{{2, 9, 9, 9, 9, 9}}).Create(other.qp);
      EXPECT_NE(flow, nullptr);
      if (flow != nullptr) {
        EXPECT_EQ(ibv_destroy_flow(flow), 0);
      }
    }
  });
  EXPECT_EQ(qp.Poll(64).size(), 64u);
  stop = true;
  worker.join();
}

void RegionsMayComeAndGoUnderTraffic(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  std::atomic<bool> stop = false;
  std::thread worker([&] {
    while (!stop) {
      ibv_mr* const mr = ibv_reg_mr(rig.pd, rig.Buffer(64).data(), 64, 0);
      EXPECT_NE(mr, nullptr);
      if (mr != nullptr) {
        EXPECT_EQ(ibv_dereg_mr(mr), 0);
      }
    }
  });
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(qp.PostSend(0, PlainFrame(60)), 0);
    EXPECT_EQ(qp.Poll(1).size(), 1u);
  }
  stop = true;
  worker.join();
}

}  // namespace

CheckList LifetimeChecks() {
  static constexpr Check kChecks[] = {
      {"lifetimes.region_may_go_before_its_qp", kNothing,
       RegionMayGoBeforeItsQp},
      {"lifetimes.qp_may_go_with_receives_posted", kArrivals,
       QpMayGoWithReceivesPosted},
      {"lifetimes.qp_takes_its_completions_along", kNothing,
       QpTakesItsCompletionsAlong},
      {"lifetimes.numbers_of_qps_that_went_may_come_back", kNothing,
       NumbersOfQpsThatWentMayComeBack},
      {"lifetimes.context_may_go_with_objects_alive", kStrict,
       ContextMayGoWithObjectsAlive},
      {"lifetimes.closed_context_takes_no_frames", kLive,
       ClosedContextTakesNoFrames},
      {"lifetimes.other_context_goes_on", kNothing, OtherContextGoesOn},
      {"lifetimes.objects_may_come_and_go_under_traffic", kNothing,
       ObjectsMayComeAndGoUnderTraffic},
      {"lifetimes.rules_may_come_and_go_under_traffic", kArrivals,
       RulesMayComeAndGoUnderTraffic},
      {"lifetimes.regions_may_come_and_go_under_traffic", kNothing,
       RegionsMayComeAndGoUnderTraffic},
  };
  return kChecks;
}

}  // namespace weir::conformance
