// Parse and a host of groups between plain memory; answers apart from what goes
// on.

#ifndef TEST_STAGE_GROUP_HOST_RIG_H_
#define TEST_STAGE_GROUP_HOST_RIG_H_

#include <chrono>
#include <cstdint>
#include <type_traits>
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
#include "weir/stage/group/membership_host.h"
#include "weir/stage/parse.h"
#include "weir/stage/transmit_both_ways.h"

namespace weir::testing {

template <typename P>
class HostRig {
 public:
  using Address = typename P::Address;

  explicit HostRig(const MembershipOptions<P>& options = DefaultOptions(),
                   uint32_t mbufs = 512)
      : HostRig(*MembershipHost<P>::Create(options), mbufs) {}
  ~HostRig() {
    Poll();
    ExpectConserved(pipeline_.Snapshot());
  }

  static MembershipOptions<P> DefaultOptions() {
    MembershipOptions<P> options;
    options.sender.mac = kTestMacB;
    if constexpr (std::is_same_v<P, Igmp>) {
      options.sender.address = Of("192.0.2.1");
    } else {
      options.sender.address = Of("fe80::b");
    }
    return options;
  }
  static Address Of(const char* text) {
    return std::get<Address>(net::ParseIpAddress(text).value());
  }

  void Poll() {
    lab_.lcore.UpdateClock();
    // A host that finds no mbuf keeps trying.
    for (int i = 0; i < 100 && pipeline_.Poll(lab_.lcore) != 0; ++i) {
    }
  }
  // What goes on of `frame`.
  std::vector<Bytes> Send(const Bytes& frame) {
    traffic_.frames.push_back(frame);
    Poll();
    return std::exchange(passed_.frames, {});
  }
  // What the host says now.
  std::vector<Bytes> Said() {
    Poll();
    return std::exchange(said_.frames, {});
  }
  // What it says first within five seconds.
  std::vector<Bytes> SaidSoon() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (said_.frames.empty() && std::chrono::steady_clock::now() < end) {
      Poll();
    }
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

 private:
  HostRig(typename MembershipHost<P>::Ends ends, uint32_t mbufs)
      : lab_(mbufs),
        control(std::move(ends.control)),
        pipeline_(FakeInlet(traffic_), Parse(), std::move(ends.stage),
                  TransmitBothWays(FakeOutlet(passed_), FakeOutlet(said_))) {}

  Lab lab_;
  FakeTraffic traffic_;
  FakeSink passed_;
  FakeSink said_;

 public:
  GroupControl<P> control;

 private:
  Pipeline<FakeInlet, Parse, MembershipHost<P>, TransmitBothWays<FakeOutlet>>
      pipeline_;
};

}  // namespace weir::testing

#endif  // TEST_STAGE_GROUP_HOST_RIG_H_
