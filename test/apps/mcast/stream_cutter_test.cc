#include "apps/mcast/stream_cutter.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::mcast {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Whatever Next has now.
void TakeAll(StreamCutter& cutter, std::vector<std::string>& into) {
  while (const auto datagram = cutter.Next()) {
    into.emplace_back(reinterpret_cast<const char*>(datagram->data()),
                      datagram->size());
  }
}

// The datagrams of `stream` when it is read `piece` bytes at a time.
std::vector<std::string> Cut(StreamCutter& cutter, absl::string_view stream,
                             size_t piece) {
  std::vector<std::string> datagrams;
  while (!stream.empty() && cutter.status().ok()) {
    const auto room = cutter.Room();
    EXPECT_FALSE(room.empty());
    const size_t size = std::min({piece, stream.size(), room.size()});
    std::memcpy(room.data(), stream.data(), size);
    stream.remove_prefix(size);
    cutter.Filled(size);
    TakeAll(cutter, datagrams);
  }
  cutter.End();
  TakeAll(cutter, datagrams);
  return datagrams;
}

std::vector<std::string> Cut(SplitBy by, size_t max_bytes,
                             absl::string_view stream, size_t piece) {
  StreamCutter cutter(by, max_bytes);
  return Cut(cutter, stream, piece);
}

TEST(StreamCutterTest, MakesADatagramOfWhatWasRead) {
  EXPECT_THAT(Cut(SplitBy::kRead, 4, "abcdefghi", 100),
              ElementsAre("abcd", "efgh", "i"));
  EXPECT_THAT(Cut(SplitBy::kRead, 4, "abcde", 3), ElementsAre("abc", "de"));
  EXPECT_THAT(Cut(SplitBy::kRead, 4, "", 3), IsEmpty());
}

TEST(StreamCutterTest, MakesADatagramOfALine) {
  for (const size_t piece : {1, 2, 3, 5, 100}) {
    EXPECT_THAT(Cut(SplitBy::kLine, 6, "one\n\ntwo\nend", piece),
                ElementsAre("one\n", "\n", "two\n", "end"))
        << piece;
    // Six bytes with the newline; seven.
    EXPECT_THAT(Cut(SplitBy::kLine, 6, "12345\n123456\n1234567\n", piece),
                ElementsAre("12345\n", "123456", "\n", "123456", "7\n"))
        << piece;
  }
}

TEST(StreamCutterTest, MakesADatagramOfALength) {
  const absl::string_view stream("\0\3abc\0\0\0\4defg", 13);
  for (const size_t piece : {1, 2, 3, 5, 100}) {
    EXPECT_THAT(Cut(SplitBy::kLength, 4, stream, piece),
                ElementsAre("abc", "", "defg"))
        << piece;
  }
}

TEST(StreamCutterTest, RefusesALengthThatIsTooLong) {
  StreamCutter cutter(SplitBy::kLength, 4);
  EXPECT_THAT(Cut(cutter, absl::string_view("\0\1a\0\5abcde", 10), 100),
              ElementsAre("a"));
  EXPECT_EQ(cutter.status(),
            absl::InvalidArgumentError("want lengths up to 4, got 5"));
}

TEST(StreamCutterTest, SaysThatTheEndIsMissing) {
  StreamCutter cutter(SplitBy::kLength, 4);
  EXPECT_THAT(Cut(cutter, absl::string_view("\0\1a\0\3ab", 7), 100),
              ElementsAre("a"));
  EXPECT_EQ(cutter.status(),
            absl::DataLossError("it ends within a datagram: 4 bytes of 5 with "
                                "its length"));
}

TEST(StreamCutterTest, LosesNoByteOfAnyStream) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string stream(random() % 2000, '\0');
    for (char& c : stream) c = random() % 40 == 0 ? '\n' : 'x';
    const size_t max_bytes = 1 + random() % 100;
    const size_t piece = 1 + random() % 300;
    for (const SplitBy by : {SplitBy::kRead, SplitBy::kLine}) {
      std::string all;
      for (const std::string& datagram : Cut(by, max_bytes, stream, piece)) {
        EXPECT_LE(datagram.size(), max_bytes);
        EXPECT_FALSE(datagram.empty());
        if (by == SplitBy::kLine) {
          EXPECT_EQ(datagram.substr(0, datagram.size() - 1).find('\n'),
                    std::string::npos);
        }
        all += datagram;
      }
      EXPECT_EQ(all, stream);
    }
  }
}

}  // namespace
}  // namespace weir::mcast
