// Asynchronous events of a context.

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>

#include <cerrno>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

bool HasEvent(const ibv_context* context, int milliseconds) {
  pollfd ready = {.fd = context->async_fd, .events = POLLIN, .revents = 0};
  return poll(&ready, 1, milliseconds) == 1;
}

// More completions than the CQ holds. `cq` is of one entry, or a few more.
void Overrun(TestQp& qp, const TestCq& cq) {
  for (int i = 0; i <= cq.cq->cqe; ++i) {
    ASSERT_EQ(qp.PostSend(0, PlainFrame(60)), 0);
  }
}

void QuietContextWouldBlock(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  const int flags = fcntl(rig.context->async_fd, F_GETFL);
  ASSERT_EQ(fcntl(rig.context->async_fd, F_SETFL, flags | O_NONBLOCK), 0);
  EXPECT_FALSE(HasEvent(rig.context, 0));
  ibv_async_event event{};
  errno = 0;
  EXPECT_EQ(ibv_get_async_event(rig.context, &event), -1);
  EXPECT_EQ(errno, EAGAIN);
}

void OverrunCqSaysSo(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig, 1);
  TestQp qp(rig, cq, cq);
  ASSERT_TRUE(qp.ok());
  Overrun(qp, cq);
  constexpr int kMilliseconds = 5000;
  ASSERT_TRUE(HasEvent(rig.context, kMilliseconds));
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(rig.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_CQ_ERR);
  EXPECT_EQ(event.element.cq, cq.cq);
  ibv_ack_async_event(&event);
}

void OverrunCqKeepsWhatItHeld(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig, 1);
  TestQp qp(rig, cq, cq);
  ASSERT_TRUE(qp.ok());
  const auto held = static_cast<size_t>(cq.cq->cqe);
  Overrun(qp, cq);
  EXPECT_EQ(cq.Poll(held).size(), held);
  ibv_wc wc;
  EXPECT_LT(ibv_poll_cq(cq.cq, 1, &wc), 0);
}

void UnreadEventGoesWithItsCq(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  {
    TestCq cq(rig, 1);
    TestQp qp(rig, cq, cq);
    ASSERT_TRUE(qp.ok());
    Overrun(qp, cq);
  }
  const int flags = fcntl(rig.context->async_fd, F_GETFL);
  ASSERT_EQ(fcntl(rig.context->async_fd, F_SETFL, flags | O_NONBLOCK), 0);
  ibv_async_event event{};
  EXPECT_EQ(ibv_get_async_event(rig.context, &event), -1);
}

void EventIsOfItsContext(Lab& lab) {
  Rig rig(lab);
  Rig other(lab);
  TestCq cq(rig, 1);
  TestQp qp(rig, cq, cq);
  ASSERT_TRUE(qp.ok() && other.ok());
  Overrun(qp, cq);
  EXPECT_TRUE(HasEvent(rig.context, 5000));
  EXPECT_FALSE(HasEvent(other.context, 0));
}

}  // namespace

CheckList AsyncChecks() {
  static constexpr Check kChecks[] = {
      {"async.quiet_context_would_block", kNothing, QuietContextWouldBlock},
      {"async.overrun_cq_says_so", kStrict, OverrunCqSaysSo},
      {"async.overrun_cq_keeps_what_it_held", kStrict,
       OverrunCqKeepsWhatItHeld},
      {"async.unread_event_goes_with_its_cq", kStrict,
       UnreadEventGoesWithItsCq},
      {"async.event_is_of_its_context", kStrict, EventIsOfItsContext},
  };
  return kChecks;
}

}  // namespace weir::conformance
