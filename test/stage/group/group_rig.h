// Parse and a stage that knows groups between plain memory; what the stage says
// apart from what goes on.

#ifndef TEST_STAGE_GROUP_GROUP_RIG_H_
#define TEST_STAGE_GROUP_GROUP_RIG_H_

#include <chrono>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/expect_conserved.h"
#include "test/support/fake_queues.h"
#include "test/support/frame.h"
#include "weir/net/ip_text.h"
#include "weir/pipeline/pipeline.h"
#include "weir/stage/parse.h"
#include "weir/stage/transmit_both_ways.h"

namespace weir::testing {

// `Stage` is a MembershipHost or a MembershipRouter.
template <typename Stage>
class GroupRig {
 public:
  using Address = typename Stage::Address;

  GroupRig(Stage stage, uint32_t mbufs)
      : lab_(mbufs),
        pipeline_(FakeInlet(traffic_), Parse(), std::move(stage),
                  TransmitBothWays(FakeOutlet(passed_), FakeOutlet(said_))) {}
  GroupRig(const GroupRig&) = delete;
  GroupRig& operator=(const GroupRig&) = delete;
  ~GroupRig() {
    Poll();
    ExpectConserved(pipeline_.Snapshot());
  }

  static Address Of(const char* text) {
    return std::get<Address>(net::ParseIpAddress(text).value());
  }

  void Poll() {
    lab_.lcore.UpdateClock();
    // A stage that finds no mbuf keeps trying.
    for (int i = 0; i < 100 && pipeline_.Poll(lab_.lcore) != 0; ++i) {
    }
  }
  // What goes on of `frame`.
  std::vector<Bytes> Send(const Bytes& frame) {
    traffic_.frames.push_back(frame);
    Poll();
    Poll();
    return std::exchange(passed_.frames, {});
  }
  // What the stage says now.
  std::vector<Bytes> Said() {
    Poll();
    return std::exchange(said_.frames, {});
  }
  // What it says first within five seconds.
  std::vector<Bytes> SaidSoon() {
    WaitFor([this] { return !said_.frames.empty(); });
    return Said();
  }
  // Sends and expects the drop.
  void ExpectDrop(const Bytes& frame, absl::string_view reason) {
    const uint64_t before = Drops(reason);
    EXPECT_THAT(Send(frame), ::testing::IsEmpty()) << reason;
    EXPECT_EQ(Drops(reason), before + 1) << reason;
  }
  uint64_t Drops(absl::string_view reason) const {
    const PipelineSnapshot all = pipeline_.Snapshot();
    for (const DropSnapshot& drop : all.stages[2].drops) {
      if (drop.name == reason) return drop.packets;
    }
    ADD_FAILURE() << "no drop is called " << reason;
    return 0;
  }
  uint64_t taken() const { return pipeline_.Snapshot().stages[2].taken; }
  Lab& lab() { return lab_; }

 protected:
  // Polls until `is_so` is, for five seconds at most.
  template <typename F>
  void WaitFor(F is_so) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!is_so() && std::chrono::steady_clock::now() < end) Poll();
  }

 private:
  Lab lab_;
  FakeTraffic traffic_;
  FakeSink passed_;
  FakeSink said_;
  Pipeline<FakeInlet, Parse, Stage, TransmitBothWays<FakeOutlet>> pipeline_;
};

}  // namespace weir::testing

#endif  // TEST_STAGE_GROUP_GROUP_RIG_H_
