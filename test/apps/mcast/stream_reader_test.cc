#include "apps/mcast/stream_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "weir/base/unique_fd.h"

namespace weir::mcast {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

// A pipe, and a reader of it.
class Rig {
 public:
  explicit Rig(SplitBy by, size_t max_bytes = 100, size_t ring_bytes = 4096)
      : Rig(by, max_bytes,
            MakePayloadRing(ring_bytes, max_bytes, RingPayload::kEndless)) {}

  void Write(const std::string& text) {
    ASSERT_EQ(write(in_.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  void End() { in_ = UniqueFd(); }
  // The next `count` datagrams.
  std::vector<std::string> Take(size_t count) {
    std::vector<std::string> taken;
    const auto deadline = Clock::now() + std::chrono::seconds(30);
    while (taken.size() < count && Clock::now() < deadline) {
      if (const auto front = payload_.Front()) {
        taken.emplace_back(reinterpret_cast<const char*>(front->data()),
                           front->size());
        payload_.Pop();
      }
    }
    return taken;
  }
  bool Ends() {
    const auto deadline = Clock::now() + std::chrono::seconds(30);
    while (!payload_.finished() && Clock::now() < deadline) {
      if (payload_.Front()) return false;
    }
    return payload_.finished();
  }
  StreamReader& reader() { return reader_; }
  int in() const { return in_.get(); }

 private:
  Rig(SplitBy by, size_t max_bytes, PayloadRing ring)
      : payload_(std::move(ring.payload)),
        pipe_(MakePipe()),
        out_(pipe_.first),
        in_(pipe_.second),
        reader_(out_.get(), "pipe", StreamCutter(by, max_bytes),
                std::move(ring.writer)) {
    EXPECT_TRUE(reader_.Start().ok());
  }
  static std::pair<int, int> MakePipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe(ends), 0);
    return {ends[0], ends[1]};
  }

  RingPayload payload_;
  std::pair<int, int> pipe_;
  UniqueFd out_;
  UniqueFd in_;
  StreamReader reader_;
};

TEST(StreamReaderTest, GivesWhatComesWhileThePipeIsOpen) {
  Rig rig(SplitBy::kRead);
  rig.Write("abc");
  EXPECT_THAT(rig.Take(1), ElementsAre("abc"));
  rig.Write("de");
  EXPECT_THAT(rig.Take(1), ElementsAre("de"));
  rig.End();
  EXPECT_TRUE(rig.Ends());
  rig.reader().Stop();
  EXPECT_TRUE(rig.reader().status().ok());
  EXPECT_EQ(rig.reader().datagrams(), 2U);
  EXPECT_EQ(rig.reader().taken(), 2U);
}

TEST(StreamReaderTest, StopsWhileThePipeIsSilent) {
  Rig rig(SplitBy::kRead);
  rig.reader().Stop();
  EXPECT_TRUE(rig.reader().status().ok());
}

TEST(StreamReaderTest, StopsWhileTheRingIsFull) {
  Rig rig(SplitBy::kLine);
  std::string lines;
  for (int i = 0; i < 5000; ++i) lines += "line\n";
  rig.Write(lines);
  const auto deadline = Clock::now() + std::chrono::seconds(30);
  while (rig.reader().datagrams() < 100 && Clock::now() < deadline) {
    std::this_thread::yield();
  }
  rig.reader().Stop();
  EXPECT_GE(rig.reader().datagrams(), 100U);
  EXPECT_LT(rig.reader().datagrams(), 5000U);
  EXPECT_EQ(rig.reader().taken(), 0U);
}

// More than the pipe and the ring have room for.
TEST(StreamReaderTest, LeavesInThePipeWhatHasNoRoom) {
  Rig rig(SplitBy::kRead);
  ASSERT_EQ(fcntl(rig.in(), F_SETFL, O_NONBLOCK), 0);
  const std::string piece(100, 'x');
  size_t written = 0;
  const auto deadline = Clock::now() + std::chrono::seconds(30);
  // The pipe is full and stays so.
  for (int full = 0; full < 50 && Clock::now() < deadline;) {
    if (write(rig.in(), piece.data(), piece.size()) > 0) {
      written += piece.size();
      full = 0;
    } else {
      ++full;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  EXPECT_GT(written, 50'000U);
  EXPECT_LT(written, 200'000U);
  rig.End();
  std::string all;
  while (!rig.Ends()) {
    for (const std::string& datagram : rig.Take(1)) all += datagram;
  }
  EXPECT_EQ(all, std::string(written, 'x'));
}

TEST(StreamReaderTest, NamesWhatCannotBeRead) {
  auto ring = MakePayloadRing(4096, 100, RingPayload::kEndless);
  const UniqueFd folder(open("/", O_RDONLY | O_DIRECTORY));
  StreamReader reader(folder.get(), "standard input",
                      StreamCutter(SplitBy::kRead, 100),
                      std::move(ring.writer));
  ASSERT_TRUE(reader.Start().ok());
  const auto deadline = Clock::now() + std::chrono::seconds(30);
  while (!ring.payload.finished() && Clock::now() < deadline) {
    EXPECT_FALSE(ring.payload.Front().has_value());
  }
  EXPECT_TRUE(ring.payload.finished());
  reader.Stop();
  EXPECT_THAT(std::string(reader.status().message()),
              HasSubstr("standard input: read: "));
}

TEST(StreamReaderTest, SendsWhatCameBeforeAnError) {
  Rig rig(SplitBy::kLength);
  rig.Write(std::string("\0\3abc\0\xff", 7));
  EXPECT_THAT(rig.Take(1), ElementsAre("abc"));
  EXPECT_TRUE(rig.Ends());
  rig.reader().Stop();
  EXPECT_THAT(std::string(rig.reader().status().message()),
              HasSubstr("pipe: want lengths up to 100, got 255"));
}

}  // namespace
}  // namespace weir::mcast
