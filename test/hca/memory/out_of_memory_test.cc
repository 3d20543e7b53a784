// Memory that runs out in the middle of a verbs call: the call says so, leaves
// everything as it was and can be made again.

#include <infiniband/verbs.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/hca/memory/at_last.h"
#include "test/hca/memory/everything.h"
#include "test/support/own_wire.h"
#include "weir/hca_control/hca_control.h"

namespace weir::hca {
namespace {

using testing::ElementsAre;

// Before anything else here lists devices.
TEST(OutOfMemoryTest, ListsTheDevicesOfTheEnvironmentOnce) {
  ASSERT_EQ(setenv("WEIR_HCA_DEVICES", "one=null:;loopback:;two=null:", 1), 0);
  ASSERT_EQ(setenv("WEIR_HCA_FAULTS", "two=qp_error@1000000;three=remove@1", 1),
            0);
  int count = 0;
  testing::internal::CaptureStderr();
  ibv_device** const list = MakeAtLast(
      "ibv_get_device_list", [&count] { return ibv_get_device_list(&count); });
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "weir_hca: WEIR_HCA_FAULTS: \"three=remove@1\": no device is called "
      "\"three\"; want NAME=FAULTS with one of one, two\n");
  ASSERT_NE(list, nullptr);
  std::vector<std::string> names;
  for (ibv_device** at = list; *at != nullptr; ++at) {
    names.emplace_back(ibv_get_device_name(*at));
  }
  ibv_free_device_list(list);
  EXPECT_EQ(static_cast<size_t>(count), names.size());
  ASSERT_GE(count, 3);
  EXPECT_EQ(names[names.size() - 3], "one");
  EXPECT_EQ(names[names.size() - 1], "two");
}

class OutOfMemoryMediumTest : public ::testing::TestWithParam<std::string> {};

TEST_P(OutOfMemoryMediumTest, LeavesNothingBehindWhereverItRunsOut) {
  ExpectNothingLeftBehind(GetParam());
}

TEST_P(OutOfMemoryMediumTest, KeepsControlCallsHonest) {
  ibv_device* const device = AddDevice(GetParam());
  ASSERT_NE(device, nullptr);
  Everything all(device);
  std::array<char, 256> text{};
  for (const char* const fault : {"qp_error", "send_error", "remove"}) {
    DoAtLast(fault, [&] {
      return weir_hca_inject(all.context, fault, text.data(), text.size());
    });
  }
  EXPECT_EQ(ibv_open_device(device), nullptr);
  DoAtLast("weir_hca_open_error", [&] {
    return weir_hca_open_error(device, text.data(), text.size());
  });
  EXPECT_THAT(text.data(), testing::HasSubstr("the device was removed"));
}

TEST_P(OutOfMemoryMediumTest, ChangesALinkAtLast) {
  Everything all(AddDevice(GetParam()));
  std::array<char, 256> text{};
  for (const char* const options : {"loss=1%,delay=1us", "", "dup=2%"}) {
    DoAtLast("weir_hca_impair", [&] {
      return weir_hca_impair(all.context, options, text.data(), text.size());
    });
  }
}

INSTANTIATE_TEST_SUITE_P(
    Media, OutOfMemoryMediumTest,
    testing::Values("null:", "loopback:", "loopback:,fault=qp_error@900000",
                    "loopback:,loss=1%", OwnWire("out-of-memory"),
                    "pcap:,out=/dev/null"));

// Takes the events that wait.
std::vector<ibv_event_type> TakeEvents(ibv_context* context, size_t count) {
  std::vector<ibv_event_type> types(count);
  DoWithoutMemory("ibv_get_async_event", [&] {
    for (ibv_event_type& type : types) {
      ibv_async_event event{};
      if (ibv_get_async_event(context, &event) != 0) return errno;
      type = event.event_type;
      ibv_ack_async_event(&event);
    }
    return 0;
  });
  return types;
}

TEST(OutOfMemoryTest, SendsReceivesAndSleepsWithoutMemory) {
  Everything all(AddDevice("loopback:"));
  all.AddFlow(all.qp, 0, 0);
  Everything::Move(all.qp, IBV_QPS_RTS);
  DoWithoutMemory("ibv_req_notify_cq",
                  [&] { return ibv_req_notify_cq(all.cq, 0); });
  DoWithoutMemory("ibv_post_recv",
                  [&] { return all.PostReceive(all.mr->lkey); });
  DoWithoutMemory("ibv_post_send", [&all] {
    ibv_sge sge{.addr = std::bit_cast<uintptr_t>(all.mr->addr),
                .length = 60,
                .lkey = all.mr->lkey};
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(all.qp, &wr, &bad);
  });
  DoWithoutMemory("ibv_get_cq_event", [&all] {
    ibv_cq* cq = nullptr;
    void* cq_context = nullptr;
    if (ibv_get_cq_event(all.channel, &cq, &cq_context) != 0) return errno;
    ibv_ack_cq_events(cq, 1);
    return cq == all.cq && cq_context == &all ? 0 : EINVAL;
  });
  ibv_wc wc{};
  DoWithoutMemory("ibv_poll_cq", [&] {
    return ibv_poll_cq(all.cq, 1, &wc) == 1 ? 0 : EINVAL;
  });
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
}

TEST(OutOfMemoryTest, TellsOfFailuresWithoutMemory) {
  Everything all(AddDevice("null:"));
  all.AddFlow(all.qp, 0, 0);
  // A rule with a count keeps frames off the shortest way.
  for (const bool straight : {true, false}) {
    if (!straight) all.AddFlow(all.qp, 0, 0, Everything::Counts::kYes);
    Everything::Move(all.qp, IBV_QPS_RTS);
    const uint32_t bad_key = all.mr->lkey + 1;
    DoWithoutMemory("ibv_post_recv",
                    [&all, bad_key] { return all.PostReceive(bad_key); });
    ibv_wc wc{};
    DoWithoutMemory("ibv_poll_cq", [&] {
      return ibv_poll_cq(all.cq, 1, &wc) == 1 ? 0 : EINVAL;
    });
    EXPECT_EQ(wc.status, IBV_WC_LOC_PROT_ERR);
    EXPECT_THAT(TakeEvents(all.context, 1), ElementsAre(IBV_EVENT_QP_FATAL));
  }
}

// Twice the same before the program looks.
TEST(OutOfMemoryTest, LosesNoEventThatWaits) {
  Everything all(AddDevice("null:"));
  all.AddFlow(all.qp, 0, 0);
  for (int i = 0; i < 2; ++i) {
    Everything::Move(all.qp, IBV_QPS_RTS);
    ASSERT_EQ(all.PostReceive(all.mr->lkey + 1), 0);
    ibv_wc wc{};
    DoWithoutMemory("ibv_poll_cq", [&] {
      return ibv_poll_cq(all.cq, 1, &wc) == 1 ? 0 : EINVAL;
    });
  }
  EXPECT_THAT(TakeEvents(all.context, 2),
              ElementsAre(IBV_EVENT_QP_FATAL, IBV_EVENT_QP_FATAL));
}

}  // namespace
}  // namespace weir::hca
