#include "weir/ring/published.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(PublishedTest, ReadsTheNewestValue) {
  Published<int> value(1);
  EXPECT_EQ(value.Read(), 1);
  value.Publish(2);
  value.Publish(3);
  EXPECT_EQ(value.Read(), 3);
}

TEST(PublishedTest, KeepsWhatIsBeingReadUntilTheNextRead) {
  Published<std::shared_ptr<int>> value(std::make_shared<int>(1));
  const std::weak_ptr<int> first = value.Read();
  value.Publish(std::make_shared<int>(2));
  EXPECT_FALSE(first.expired());
  value.Publish(std::make_shared<int>(3));
  EXPECT_FALSE(first.expired());
  EXPECT_EQ(*value.Read(), 3);
  value.Publish(std::make_shared<int>(4));
  EXPECT_TRUE(first.expired());
}

TEST(PublishedTest, FreesAllThatIsOlderThanWhatIsRead) {
  Published<int> value(0);
  for (int i = 1; i <= 10; ++i) value.Publish(i);
  EXPECT_EQ(value.kept(), 11);
  EXPECT_EQ(value.Read(), 10);
  value.Publish(11);
  EXPECT_EQ(value.kept(), 2);
}

// Run under TSan and ASan: no value is seen half made or after it was freed.
TEST(PublishedTest, ShowsWholeValuesToAnotherThread) {
  constexpr uint64_t kLast = 20'000;
  Published<std::vector<uint64_t>> value(std::vector<uint64_t>(8, 0));
  std::atomic<uint64_t> torn = 0;
  std::jthread reader([&] {
    for (uint64_t seen = 0; seen != kLast;) {
      const std::vector<uint64_t>& now = value.Read();
      for (const uint64_t number : now) torn += number != now[0] ? 1 : 0;
      torn += now[0] < seen ? 1 : 0;
      seen = now[0];
    }
  });
  for (uint64_t i = 1; i <= kLast; ++i) {
    value.Publish(std::vector<uint64_t>(8, i));
  }
  reader.join();
  EXPECT_EQ(torn, 0);
}

}  // namespace
}  // namespace weir
