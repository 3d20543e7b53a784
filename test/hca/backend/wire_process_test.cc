// Ends of a wire in different processes, which may be stopped or killed.

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/hca/backend/backend_rig.h"
#include "test/support/child_process.h"
#include "test/support/own_wire.h"
#include "weir/hca/backend/wire/wire.h"

namespace weir::hca {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::chrono::seconds kPatience{60};

// Calls `done` until it returns true; false after a minute.
template <typename Done>
bool Await(Done&& done) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    sched_yield();
  }
  return true;
}

FrameBytes NumberedFrame(uint64_t number) {
  FrameBytes frame = PatternFrame(number, 60 + number % 700);
  std::memcpy(frame.data(), &number, sizeof number);
  return frame;
}

uint64_t NumberOf(const FrameBytes& frame) {
  uint64_t number = 0;
  std::memcpy(&number, frame.data(), sizeof number);
  return number;
}

// Sends numbered frames from 0 for ever.
bool SendForEver(Backend& end) {
  for (uint64_t number = 0;;) number += Send(end, {NumberedFrame(number)});
}

class WireProcessTest : public testing::Test {
 protected:
  std::unique_ptr<Backend> Open(const std::string& options) const {
    auto end = OpenWire(ParseDeviceKey(name_ + options).value());
    EXPECT_TRUE(end.ok()) << end.status();
    return end.ok() ? *std::move(end) : nullptr;
  }
  std::string OpenError(const std::string& options) const {
    const auto end = OpenWire(ParseDeviceKey(name_ + options).value());
    return end.ok() ? "opened" : std::string(end.status().message());
  }
  // A process that has opened an end, reads nothing and waits to be killed.
  auto Sleeper(const std::string& options) const {
    return [this, options](Conversation parent) {
      const auto end = Open(options);
      parent.Say(0);
      return end != nullptr && !parent.Hear().has_value();
    };
  }

  // The same in all processes of a test.
  const std::string name_ = OwnWire("process");
};

TEST_F(WireProcessTest, CarriesFramesBothWays) {
  const auto a = Open("");
  ChildProcess child([&](Conversation parent) {
    const auto b = Open("");
    parent.Say(0);
    std::vector<FrameBytes> frames;
    return Await([&] { return !(frames = TakeFrames(*b, 8)).empty(); }) &&
           Send(*b, frames) == frames.size() && parent.Hear().has_value();
  });
  ASSERT_TRUE(child.conversation().Hear().has_value());
  EXPECT_EQ(Send(*a, {PatternFrame(7, 1000)}), 1u);
  std::vector<FrameBytes> back;
  EXPECT_TRUE(Await([&] { return !(back = TakeFrames(*a, 8)).empty(); }));
  EXPECT_THAT(back, ElementsAre(PatternFrame(7, 1000)));
  child.conversation().Say(0);
  EXPECT_EQ(child.Wait(), 0);
}

TEST_F(WireProcessTest, WakesASleeperOfAnotherProcess) {
  const auto a = Open("");
  ChildProcess child([&](Conversation parent) {
    const auto b = Open("");
    for (uint64_t seen = 0; seen < 100;) {
      const size_t taken = TakeFrames(*b, 8).size();
      if (taken > 0) {
        parent.Say(seen += taken);
      } else if (!b->ArmReceive()) {
        parent.Say(seen);
        pollfd waiting = {.fd = b->wake_fd(), .events = POLLIN, .revents = 0};
        if (poll(&waiting, 1, 60'000) != 1) return false;
        b->ClearWake();
      }
    }
    return true;
  });
  // The child says how many it has before it sleeps: each frame but the first
  // finds it armed.
  for (uint64_t sent = 0; sent < 100; ++sent) {
    std::optional<uint64_t> seen;
    do seen = child.conversation().Hear();
    while (seen.has_value() && *seen < sent);
    ASSERT_TRUE(seen.has_value());
    ASSERT_EQ(Send(*a, {NumberedFrame(sent)}), 1u);
  }
  EXPECT_EQ(child.Wait(), 0);
}

TEST_F(WireProcessTest, WakesASleeperWhenAProcessIsKilled) {
  const auto a = Open("");
  ChildProcess child(Sleeper(""));
  ASSERT_TRUE(child.conversation().Hear().has_value());
  ASSERT_FALSE(a->ArmReceive());
  EXPECT_FALSE(IsReadable(*a));
  child.Kill();
  EXPECT_TRUE(Await([&] { return IsReadable(*a); }));
  a->ClearWake();
  EXPECT_FALSE(IsReadable(*a));
}

TEST_F(WireProcessTest, DoesNotWaitForAReceiverThatIsKilled) {
  const auto a = Open(",bytes=4096");
  ChildProcess child(Sleeper(""));
  ASSERT_TRUE(child.conversation().Hear().has_value());
  uint64_t sent = 0;
  while (Send(*a, {PatternFrame(1, 500)}) == 1) ++sent;
  EXPECT_GT(sent, 3u);
  EXPECT_EQ(CounterValue(*a, "tx_peer_gone"), 0u);
  child.Kill();
  EXPECT_TRUE(Await([&] { return Send(*a, {PatternFrame(1, 500)}) == 1; }));
  EXPECT_EQ(CounterValue(*a, "tx_peer_gone"), sent);
  EXPECT_EQ(CounterValue(*a, "tx_no_peer"), 1u);
}

TEST_F(WireProcessTest, CountsWhatAKilledReceiverLeft) {
  const auto a = Open("");
  ChildProcess child(Sleeper(""));
  ASSERT_TRUE(child.conversation().Hear().has_value());
  EXPECT_EQ(Send(*a, {PatternFrame(1, 500), PatternFrame(2, 60)}), 2u);
  child.Kill();
  EXPECT_EQ(CounterValue(*a, "tx_peer_gone"), 2u);
}

TEST_F(WireProcessTest, AStoppedReceiverKeepsItsFrames) {
  const auto a = Open(",bytes=4096");
  ChildProcess child([&](Conversation parent) {
    const auto b = Open("");
    parent.Say(0);
    const std::optional<uint64_t> count = parent.Hear();
    uint64_t taken = 0;
    return count.has_value() &&
           Await([&] { return (taken += TakeFrames(*b, 8).size()) >= *count; });
  });
  ASSERT_TRUE(child.conversation().Hear().has_value());
  child.Signal(SIGSTOP);
  child.AwaitStop();
  uint64_t sent = 0;
  while (Send(*a, {PatternFrame(1, 500)}) == 1) ++sent;
  // For longer than it takes to notice a dead one.
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start <
         std::chrono::milliseconds(20)) {
    ASSERT_EQ(Send(*a, {PatternFrame(1, 500)}), 0u);
  }
  child.Signal(SIGCONT);
  child.conversation().Say(sent);
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(CounterValue(*a, "tx_peer_gone"), 0u);
}

// Whatever the sender was doing: what it published is whole and in order, and
// who takes its place begins anew.
TEST_F(WireProcessTest, ASenderMayBeKilledAtAnyInstruction) {
  const auto b = Open(",end=b,bytes=4096");
  for (uint64_t round = 0; round < 40; ++round) {
    ChildProcess child([&](Conversation) {
      const auto a = Open(",end=a");
      return SendForEver(*a);
    });
    uint64_t expected = 0;
    const auto take = [&] {
      bool any = false;
      for (const FrameBytes& frame : TakeFrames(*b, 4)) {
        EXPECT_EQ(frame, NumberedFrame(expected));
        expected = NumberOf(frame) + 1;
        any = true;
      }
      return any;
    };
    ASSERT_TRUE(Await([&] {
      take();
      return expected > 5 * round;
    }));
    child.Kill();
    while (take()) {
    }
  }
}

TEST_F(WireProcessTest, AReceiverMayBeKilledAtAnyInstruction) {
  const auto a = Open(",end=a,bytes=4096");
  uint64_t number = 0;
  for (uint64_t round = 0; round < 40; ++round) {
    // Each begins in the middle and must see no gap from there on.
    ChildProcess child([&](Conversation parent) {
      const auto b = Open(",end=b");
      std::optional<uint64_t> expected;
      for (;;) {
        for (const FrameBytes& frame : TakeFrames(*b, 4)) {
          const uint64_t got = NumberOf(frame);
          const bool good =
              frame == NumberedFrame(got) && got == expected.value_or(got);
          if (!parent.Say(good ? 1 : 0) || !good) return false;
          expected = got + 1;
        }
      }
    });
    uint64_t heard = 0;
    while (heard < 2 * round + 1) {
      number += Send(*a, {NumberedFrame(number)});
      pollfd waiting = {
          .fd = child.conversation().fd(), .events = POLLIN, .revents = 0};
      if (poll(&waiting, 1, 0) != 1) continue;
      ASSERT_EQ(child.conversation().Hear(), 1u);
      ++heard;
    }
    child.Kill();
  }
}

TEST_F(WireProcessTest, AnEndIsFreeAtOnceAfterAKill) {
  const auto a = Open(",end=a");
  ChildProcess child(Sleeper(",end=b"));
  ASSERT_TRUE(child.conversation().Hear().has_value());
  EXPECT_EQ(OpenError(",end=b"), name_ + ",end=b: this end is open already");
  Send(*a, {PatternFrame(1, 60)});
  child.Kill();
  const auto b = Open(",end=b");
  EXPECT_THAT(TakeFrames(*b, 8), IsEmpty());
  Send(*a, {PatternFrame(2, 60)});
  EXPECT_THAT(TakeFrames(*b, 8), ElementsAre(PatternFrame(2, 60)));
  EXPECT_EQ(CounterValue(*a, "tx_peer_gone"), 1u);
}

// Nobody has made sure that there is memory for the ring to the dead end.
TEST_F(WireProcessTest, WhoComesLaterSendsNothingToAnEndThatDied) {
  const auto a = Open(",end=a");
  ChildProcess child(Sleeper(",end=b"));
  ASSERT_TRUE(child.conversation().Hear().has_value());
  child.Kill();
  const auto c = Open(",end=c");
  EXPECT_EQ(Send(*c, {PatternFrame(1, 60)}), 1u);
  EXPECT_THAT(TakeFrames(*a, 8), ElementsAre(PatternFrame(1, 60)));
  EXPECT_EQ(CounterValue(*c, "tx_peer_gone"), 0u);
}

TEST_F(WireProcessTest, WhatAKillLeavesBehindDecidesNothing) {
  {
    ChildProcess child(Sleeper(",mtu=9000"));
    ASSERT_TRUE(child.conversation().Hear().has_value());
  }
  EXPECT_EQ(Open(",mtu=1500")->info().mtu_bytes, 1500u);
}

TEST_F(WireProcessTest, AForkedChildNeitherFreesNorClosesTheEnd) {
  auto a = Open(",end=a");
  const auto b = Open(",end=b");
  ChildProcess child([&](Conversation) {
    a.reset();
    return true;
  });
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(OpenError(",end=a"), name_ + ",end=a: this end is open already");
  EXPECT_EQ(Send(*b, {PatternFrame(1, 60)}), 1u);
  EXPECT_THAT(TakeFrames(*a, 8), ElementsAre(PatternFrame(1, 60)));
}

// A hub whose receivers come and go by kills: each frame is received, lost with
// a receiver or sent to nobody. A receiver counts before it consumes; one that
// is killed in between has its frame counted as lost too.
TEST_F(WireProcessTest, CountsEveryFrameWhileReceiversAreKilled) {
  constexpr uint64_t kKills = 25;
  const auto a = Open(",end=a,bytes=4096");
  uint64_t sent = 0;
  uint64_t received = 0;
  const auto receiver = [&](const std::string& options) {
    return [this, options](Conversation parent) {
      const auto end = Open(options);
      for (;;) {
        const std::span<const RxFrame> frames = end->Receive(1);
        if (!frames.empty() && !parent.Say(0)) return false;
        end->Consume(frames.size());
      }
    };
  };
  const auto count = [&](const ChildProcess& child, uint64_t at_least) {
    uint64_t heard = 0;
    for (;;) {
      sent += Send(*a, {NumberedFrame(sent)});
      pollfd waiting = {
          .fd = child.conversation().fd(), .events = POLLIN, .revents = 0};
      if (poll(&waiting, 1, 0) == 1 && child.conversation().Hear()) {
        ++received;
        ++heard;
      } else if (heard >= at_least) {
        return;
      }
    }
  };
  for (uint64_t kill = 0; kill < kKills; ++kill) {
    ChildProcess child(receiver(",end=b"));
    count(child, 2 * kill + 1);
    child.Kill();
    while (child.conversation().Hear()) ++received;
  }
  const uint64_t gone = CounterValue(*a, "tx_peer_gone");
  const uint64_t nobody = CounterValue(*a, "tx_no_peer");
  EXPECT_GE(received + gone + nobody, sent);
  EXPECT_LE(received + gone + nobody, sent + kKills);
}

}  // namespace
}  // namespace weir::hca
