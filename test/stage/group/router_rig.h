// Parse and a router of groups between plain memory; its queries apart from
// what goes on.

#ifndef TEST_STAGE_GROUP_ROUTER_RIG_H_
#define TEST_STAGE_GROUP_ROUTER_RIG_H_

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/expect_conserved.h"
#include "test/support/fake_queues.h"
#include "test/support/frame.h"
#include "weir/net/ip_text.h"
#include "weir/pipeline/pipeline.h"
#include "weir/stage/group/membership_router.h"
#include "weir/stage/parse.h"
#include "weir/stage/transmit_both_ways.h"

namespace weir::testing {

template <typename P>
class RouterRig {
 public:
  using Address = typename P::Address;

  explicit RouterRig(
      const MembershipRouterOptions<P>& options = DefaultOptions(),
      uint32_t mbufs = 512)
      : RouterRig(*MembershipRouter<P>::Create(options), mbufs) {}
  ~RouterRig() {
    Poll();
    ExpectConserved(pipeline_.Snapshot());
  }

  // With the times of a link on which members are asked ten times a second.
  static MembershipRouterOptions<P> DefaultOptions() {
    MembershipRouterOptions<P> options;
    options.sender.mac = kTestMacB;
    options.router.last_member_ns = 100'000'000;
    if constexpr (std::is_same_v<P, Igmp>) {
      options.sender.address = Of("192.0.2.9");
    } else {
      options.sender.address = Of("fe80::9");
    }
    return options;
  }
  static Address Of(const char* text) {
    return std::get<Address>(net::ParseIpAddress(text).value());
  }

  void Poll() {
    lab_.lcore.UpdateClock();
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
  // What it asks now.
  std::vector<Bytes> Asked() {
    Poll();
    return std::exchange(asked_.frames, {});
  }
  // What it asks first within five seconds.
  std::vector<Bytes> AskedSoon() {
    WaitFor([this] { return !asked_.frames.empty(); });
    return std::exchange(asked_.frames, {});
  }
  // What it told, "233.252.0.5 all but {}" or "233.252.0.5 only {192.0.2.7}".
  std::vector<std::string> Told() {
    std::vector<std::string> told;
    changes.TakeAll([&told](const GroupChange<Address>& change) {
      std::vector<std::string> sources;
      for (const Address& source : change.sources()) {
        sources.push_back(net::ToString(source));
      }
      told.push_back(
          net::ToString(change.group) +
          (change.mode == FilterMode::kExclude ? " all but {" : " only {") +
          absl::StrJoin(sources, " ") + "}");
    });
    return told;
  }
  // What it tells first within five seconds, which wakes the control thread.
  std::vector<std::string> ToldSoon() {
    WaitFor([this] { return is_woken(); });
    EXPECT_TRUE(is_woken());
    return Told();
  }
  bool is_woken() const {
    pollfd polled{changes.fd(), POLLIN, 0};
    return poll(&polled, 1, 0) == 1;
  }
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
  Lab& lab() { return lab_; }

 private:
  RouterRig(typename MembershipRouter<P>::Ends ends, uint32_t mbufs)
      : lab_(mbufs),
        changes(std::move(ends.changes)),
        counts(std::move(ends.counts)),
        pipeline_(FakeInlet(traffic_), Parse(), std::move(ends.stage),
                  TransmitBothWays(FakeOutlet(passed_), FakeOutlet(asked_))) {}

  template <typename F>
  void WaitFor(F is_so) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!is_so() && std::chrono::steady_clock::now() < end) Poll();
  }

  Lab lab_;
  FakeTraffic traffic_;
  FakeSink passed_;
  FakeSink asked_;

 public:
  typename MembershipRouter<P>::Changes changes;
  std::shared_ptr<const MembershipRouterCounts> counts;

 private:
  Pipeline<FakeInlet, Parse, MembershipRouter<P>, TransmitBothWays<FakeOutlet>>
      pipeline_;
};

}  // namespace weir::testing

#endif  // TEST_STAGE_GROUP_ROUTER_RIG_H_
