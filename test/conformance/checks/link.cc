// The link of the port: what is told when it goes and comes.

#include <infiniband/verbs.h>
#include <poll.h>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

// The next event of the port, -1 if none comes before kPatience is over.
int NextEvent(ibv_context* context) {
  pollfd ready = {.fd = context->async_fd, .events = POLLIN, .revents = 0};
  const auto patience = std::chrono::milliseconds(kPatience).count();
  if (poll(&ready, 1, static_cast<int>(patience)) != 1) return -1;
  ibv_async_event event{};
  if (ibv_get_async_event(context, &event) != 0) return -1;
  const int type = event.event_type;
  EXPECT_EQ(event.element.port_num, 1);
  ibv_ack_async_event(&event);
  return type;
}

ibv_port_state PortState(ibv_context* context) {
  ibv_port_attr port{};
  EXPECT_EQ(ibv_query_port(context, 1, &port), 0);
  return port.state;
}

void ChangesAreTold(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  EXPECT_EQ(PortState(rig.context), IBV_PORT_ACTIVE);
  lab.SetLink(false);
  EXPECT_EQ(NextEvent(rig.context), IBV_EVENT_PORT_ERR);
  EXPECT_EQ(PortState(rig.context), IBV_PORT_DOWN);
  lab.SetLink(true);
  EXPECT_EQ(NextEvent(rig.context), IBV_EVENT_PORT_ACTIVE);
  EXPECT_EQ(PortState(rig.context), IBV_PORT_ACTIVE);
}

void ChangesAreToldToAllContexts(Lab& lab) {
  Rig rig(lab);
  Rig other(lab);
  ASSERT_TRUE(rig.ok() && other.ok());
  lab.SetLink(false);
  EXPECT_EQ(NextEvent(rig.context), IBV_EVENT_PORT_ERR);
  EXPECT_EQ(NextEvent(other.context), IBV_EVENT_PORT_ERR);
}

void ObjectsOutliveIt(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 1);
  qp.Take();
  lab.SetLink(false);
  EXPECT_EQ(NextEvent(rig.context), IBV_EVENT_PORT_ERR);
  EXPECT_EQ(qp.state(), IBV_QPS_RTS);
  lab.SetLink(true);
  EXPECT_EQ(NextEvent(rig.context), IBV_EVENT_PORT_ACTIVE);
  lab.Inject(PlainFrame(60));
  EXPECT_EQ(qp.Receive(1), PlainFrames(1));
  ASSERT_EQ(qp.PostSend(1, PlainFrame(70)), 0);
  EXPECT_EQ(qp.Poll(1).size(), 1u);
  EXPECT_EQ(lab.Observe(1), std::vector<Bytes>{PlainFrame(70)});
}

void SendsCompleteWithoutIt(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  lab.SetLink(false);
  ASSERT_EQ(NextEvent(rig.context), IBV_EVENT_PORT_ERR);
  ASSERT_EQ(qp.PostSend(0, PlainFrame(60)), 0);
  const auto done = qp.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, IBV_WC_SUCCESS);
}

}  // namespace

CheckList LinkChecks() {
  static constexpr Check kChecks[] = {
      {"link.changes_are_told", kLink, ChangesAreTold},
      {"link.changes_are_told_to_all_contexts", kLink,
       ChangesAreToldToAllContexts},
      {"link.objects_outlive_it", kLink | kLive | kObserve, ObjectsOutliveIt},
      {"link.sends_complete_without_it", kLink | kStrict,
       SendsCompleteWithoutIt},
  };
  return kChecks;
}

}  // namespace weir::conformance
