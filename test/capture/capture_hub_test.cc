#include "weir/capture/capture_hub.h"

#include <sys/resource.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/capture/pcapng_file.h"
#include "test/support/fake_queues.h"
#include "weir/base/tsc_clock.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Lab;
using testing::PcapngFile;
using testing::ReadPcapng;

using State = CaptureStatus::State;

std::string Here(const std::string& name) {
  return ::testing::TempDir() + "/" + name;
}

// Two pipelines and a place within one; a test plays the lcores.
class CaptureHubTest : public ::testing::Test {
 protected:
  // A packet of `bytes` happens at `place`.
  void Happen(size_t place, TapKind kind, const std::string& bytes) {
    TapPoint& point = *places_[place].point;
    if (!point.is_on()) return;
    testing::FrameBytes frame(bytes.size());
    std::memcpy(frame.data(), bytes.data(), bytes.size());
    Burst burst(lab_.lcore.cache());
    burst.Adopt(testing::MakePacket(lab_.lcore.cache(), frame));
    if (kind == TapKind::kDropped) {
      point.ShowDrop(burst[0], "parse", "short", ReadTsc());
    } else {
      point.Show(kind, burst.mbufs(), ReadTsc());
    }
  }
  // Both ways between the ports.
  void HappenAll() {
    Happen(0, TapKind::kReceived, "a to b");
    Happen(0, TapKind::kSent, "a to b");
    Happen(1, TapKind::kReceived, "b to a");
    Happen(1, TapKind::kDropped, "b drop");
    Happen(1, TapKind::kSent, "b to a");
    Happen(2, TapKind::kPassed, "within");
  }

  uint64_t Start(CaptureOptions options) {
    options.file = Here("file");
    const auto id = hub_->Start(options);
    EXPECT_TRUE(id.ok()) << id.status();
    return id.ok() ? *id : 0;
  }
  CaptureStatus StatusOf(uint64_t id) {
    for (const CaptureStatus& status : hub_->List()) {
      if (status.id == id) return status;
    }
    ADD_FAILURE() << "no capture " << id;
    return {};
  }
  CaptureStatus WaitForEnd(uint64_t id) {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(60);
    CaptureStatus status = StatusOf(id);
    while (status.state != State::kEnded) {
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << "capture " << id << " does not end";
        break;
      }
      std::this_thread::yield();
      status = StatusOf(id);
    }
    return status;
  }
  // What a capture with `options` has of one HappenAll.
  std::vector<std::string> Capture(const CaptureOptions& options) {
    const uint64_t id = Start(options);
    HappenAll();
    EXPECT_TRUE(hub_->Stop(id).ok());
    WaitForEnd(id);
    std::vector<std::string> bytes;
    const PcapngFile file = ReadPcapng(Here("file"));
    for (const auto& packet : file.packets) {
      bytes.push_back(file.interfaces.at(packet.interface_id) + ": " +
                      packet.bytes);
    }
    return bytes;
  }

  Lab lab_;
  std::vector<TapPlace> places_ = {
      {std::make_shared<TapPoint>(), "a", "b", 3},
      {std::make_shared<TapPoint>(), "b rx1", "a", 4},
      {std::make_shared<TapPoint>(), "tap:x", "", 4},
  };
  std::unique_ptr<CaptureHub> hub_ =
      *CaptureHub::Create("test", places_, 1 << 18);
};

TEST_F(CaptureHubTest, TakesBothDirectionsOfAPort) {
  EXPECT_THAT(Capture({.place = "a"}), ElementsAre("a: a to b", "a: b to a"));
}

TEST_F(CaptureHubTest, TakesAllQueuesOfAPort) {
  EXPECT_THAT(Capture({.place = "b"}),
              ElementsAre("b: a to b", "b rx1: b to a"));
}

TEST_F(CaptureHubTest, TakesOneQueueOfAPort) {
  EXPECT_THAT(Capture({.place = "b rx1"}), ElementsAre("b rx1: b to a"));
}

TEST_F(CaptureHubTest, TakesOneDirection) {
  EXPECT_THAT(Capture({.place = "a", .direction = CaptureDirection::kReceived}),
              ElementsAre("a: a to b"));
  EXPECT_THAT(Capture({.place = "a", .direction = CaptureDirection::kSent}),
              ElementsAre("a: b to a"));
}

TEST_F(CaptureHubTest, TakesAPlaceWithinAPipeline) {
  EXPECT_THAT(Capture({.place = "tap:x"}), ElementsAre("tap:x: within"));
}

TEST_F(CaptureHubTest, TakesOneLcore) {
  EXPECT_THAT(Capture({.place = "all", .lcore = 3}),
              ElementsAre("a: a to b", "b: a to b"));
}

TEST_F(CaptureHubTest, TakesDropsWithTheirReason) {
  EXPECT_THAT(Capture({.place = "b", .only_drops = true}),
              ElementsAre("b rx1: b drop"));
  EXPECT_EQ(ReadPcapng(Here("file")).packets.at(0).options.at(1),
            "dropped by parse: short");
}

TEST_F(CaptureHubTest, SaysWhichWayAPacketWent) {
  Capture({.place = "a"});
  const PcapngFile file = ReadPcapng(Here("file"));
  EXPECT_EQ(file.packets.at(0).options.at(2), std::string("\1\0\0\0", 4));
  EXPECT_EQ(file.packets.at(1).options.at(2), std::string("\2\0\0\0", 4));
}

TEST_F(CaptureHubTest, SaysWhenAPacketCame) {
  const auto before = std::chrono::system_clock::now();
  Capture({.place = "a"});
  const auto after = std::chrono::system_clock::now();
  const auto ns = [](auto time) {
    return static_cast<uint64_t>(
        std::chrono::nanoseconds(time.time_since_epoch()).count());
  };
  // Two clocks are compared: a millisecond is far more than they differ.
  const uint64_t slack = 1'000'000;
  for (const auto& packet : ReadPcapng(Here("file")).packets) {
    EXPECT_GE(packet.unix_ns + slack, ns(before));
    EXPECT_LE(packet.unix_ns, ns(after) + slack);
  }
}

TEST_F(CaptureHubTest, KeepsTheFrontOfLongPackets) {
  EXPECT_THAT(Capture({.place = "a", .snaplen_bytes = 3}),
              ElementsAre("a: a t", "a: b t"));
  EXPECT_EQ(ReadPcapng(Here("file")).packets.at(0).frame_bytes, 6u);
}

TEST_F(CaptureHubTest, EndsAfterSoManyPackets) {
  const uint64_t id = Start({.place = "a", .max_packets = 3});
  for (int i = 0; i < 5; ++i) HappenAll();
  const CaptureStatus status = WaitForEnd(id);
  EXPECT_EQ(status.packets, 3u);
  EXPECT_EQ(status.error, "");
  EXPECT_EQ(ReadPcapng(Here("file")).packets.size(), 3u);
  EXPECT_FALSE(places_[0].point->is_on());
}

TEST_F(CaptureHubTest, EndsBeforeTheFileIsTooLong) {
  const uint64_t id = Start({.place = "a", .max_file_bytes = 1000});
  for (int i = 0; i < 50; ++i) HappenAll();
  const CaptureStatus status = WaitForEnd(id);
  EXPECT_GT(status.packets, 5u);
  EXPECT_LT(status.packets, 30u);
  EXPECT_EQ(ReadPcapng(Here("file")).packets.size(), status.packets);
}

TEST_F(CaptureHubTest, EndsAfterATime) {
  const uint64_t id =
      Start({.place = "a", .max_time = std::chrono::milliseconds(20)});
  EXPECT_EQ(WaitForEnd(id).error, "");
}

TEST_F(CaptureHubTest, CountsWhatFindsTheRingFull) {
  const uint64_t id = Start({.place = "a"});
  uint64_t happened = 0;
  while (StatusOf(id).lost == 0) {
    for (int i = 0; i < 10'000; ++i, ++happened) {
      Happen(0, TapKind::kReceived, std::string(1500, 'x'));
    }
  }
  ASSERT_TRUE(hub_->Stop(id).ok());
  const CaptureStatus status = WaitForEnd(id);
  EXPECT_EQ(status.packets + status.lost, happened);
  const auto counts = ReadPcapng(Here("file")).statistics.at(0);
  EXPECT_EQ(testing::CountOf(counts, 4), happened);
  EXPECT_EQ(testing::CountOf(counts, 7), status.lost);
  EXPECT_EQ(testing::CountOf(counts, 8), status.packets);
}

TEST_F(CaptureHubTest, RunsSeveralAtATime) {
  const uint64_t one = *hub_->Start({.place = "a", .file = Here("one")});
  const uint64_t two =
      *hub_->Start({.place = "a", .file = Here("two"), .snaplen_bytes = 2});
  HappenAll();
  ASSERT_TRUE(hub_->Stop(one).ok());
  WaitForEnd(one);
  HappenAll();
  hub_->StopAll();
  EXPECT_EQ(StatusOf(two).state, State::kEnded);
  EXPECT_EQ(ReadPcapng(Here("one")).packets.size(), 2u);
  const PcapngFile second = ReadPcapng(Here("two"));
  EXPECT_EQ(second.packets.size(), 4u);
  EXPECT_EQ(second.packets.at(0).bytes, "a ");
}

TEST_F(CaptureHubTest, StartsAgainAfterAll) {
  Capture({.place = "a"});
  hub_->StopAll();
  EXPECT_EQ(Capture({.place = "a"}).size(), 2u);
}

TEST_F(CaptureHubTest, NamesThePlacesThereAre) {
  const auto id = hub_->Start({.place = "eth0", .file = Here("none")});
  EXPECT_EQ(std::string(id.status().message()),
            "nothing to capture at eth0; there are all, a, b, b rx1, tap:x");
}

TEST_F(CaptureHubTest, RefusesWhatCannotBe) {
  EXPECT_FALSE(hub_->Start({.place = "a", .file = "/no/such"}).ok());
  EXPECT_FALSE(
      hub_->Start({.place = "a", .file = Here("x"), .snaplen_bytes = 0}).ok());
  EXPECT_THAT(std::string(hub_->Stop(7).message()),
              HasSubstr("no capture 7 runs"));
  EXPECT_FALSE(places_[0].point->is_on());
}

TEST_F(CaptureHubTest, RefusesMoreThanItCanHold) {
  for (size_t i = 0; i < CaptureHub::kMaxRunning; ++i) {
    const std::string file = Here("many" + std::to_string(i));
    ASSERT_TRUE(hub_->Start({.place = "a", .file = file}).ok());
  }
  EXPECT_EQ(hub_->Start({.place = "a", .file = Here("more")}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(CaptureHubTest, SaysOnceThatTheDiskIsFullAndKeepsWhatIsWhole) {
  const uint64_t id = Start({.place = "a"});
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  while (StatusOf(id).state != State::kEnded) HappenAll();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(StatusOf(id).error, HasSubstr("write: File too large"));
  EXPECT_THAT(hub_->TakeFailures(),
              ElementsAre(HasSubstr("capture 1 ended after ")));
  EXPECT_THAT(hub_->TakeFailures(), ElementsAre());
  // Whole blocks.
  EXPECT_LE(ReadPcapng(Here("file")).block_types.size(), 100u);
  // And another goes on.
  EXPECT_EQ(Capture({.place = "a"}).size(), 2u);
}

}  // namespace
}  // namespace weir
