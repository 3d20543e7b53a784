#include "weir/ring/byte_ring.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace weir {
namespace {

using Record = std::vector<std::byte>;

// `size` bytes that depend on `number`, so that a byte in the wrong place
// shows.
Record NumberedRecord(uint64_t number, size_t size) {
  Record record(size);
  for (size_t i = 0; i < size; ++i) {
    record[i] = static_cast<std::byte>(number * 31 + i * 7);
  }
  return record;
}

class ByteRingTest : public testing::Test {
 protected:
  static constexpr size_t kBytes = 256;
  static constexpr uint32_t kTag = 0xabcd1234;

  bool Append(const Record& record) {
    const bool fits = writer_.Fits(record.size());
    const auto room = writer_.Append(record.size(), kTag);
    EXPECT_EQ(room.has_value(), fits);
    if (!room.has_value()) return false;
    EXPECT_EQ(room->size(), record.size());
    std::copy(record.begin(), record.end(), room->begin());
    return true;
  }

  std::vector<Record> Take(size_t max) {
    std::vector<Record> records;
    reader_.Take(max, [&](std::span<const std::byte> record, uint32_t tag) {
      EXPECT_EQ(tag, kTag);
      records.emplace_back(record.begin(), record.end());
    });
    return records;
  }

  ByteRingIndices indices_;
  alignas(8) std::array<std::byte, kBytes> bytes_{};
  ByteRingWriter writer_{indices_, bytes_};
  ByteRingReader reader_{indices_, bytes_};
};

TEST_F(ByteRingTest, IsEmptyAtFirst) {
  EXPECT_TRUE(reader_.empty());
  EXPECT_TRUE(Take(10).empty());
}

TEST_F(ByteRingTest, ShowsNothingBeforePublish) {
  ASSERT_TRUE(Append(NumberedRecord(1, 10)));
  EXPECT_TRUE(reader_.empty());
  writer_.Publish();
  EXPECT_FALSE(reader_.empty());
}

TEST_F(ByteRingTest, ShowsEachRecordOnce) {
  ASSERT_TRUE(Append(NumberedRecord(1, 10)));
  ASSERT_TRUE(Append(NumberedRecord(2, 0)));
  writer_.Publish();
  EXPECT_EQ(Take(1), std::vector<Record>{NumberedRecord(1, 10)});
  EXPECT_EQ(Take(10), std::vector<Record>{{}});
  EXPECT_TRUE(Take(10).empty());
}

TEST_F(ByteRingTest, ShowsAgainToANewReaderWhatWasNotReleased) {
  for (uint64_t number : {1, 2, 3}) {
    ASSERT_TRUE(Append(NumberedRecord(number, 10)));
  }
  writer_.Publish();
  ASSERT_EQ(Take(3).size(), 3u);
  reader_.Release(1);
  reader_ = ByteRingReader(indices_, bytes_);
  EXPECT_EQ(Take(1), std::vector<Record>{NumberedRecord(2, 10)});
  reader_.ReleaseTaken();
  reader_ = ByteRingReader(indices_, bytes_);
  EXPECT_EQ(Take(9), std::vector<Record>{NumberedRecord(3, 10)});
}

// What a writer that dies has not published is as if it had never been.
TEST_F(ByteRingTest, ANewWriterWritesOverWhatWasNotPublished) {
  ASSERT_TRUE(Append(NumberedRecord(1, 10)));
  writer_.Publish();
  ASSERT_TRUE(Append(NumberedRecord(2, 100)));
  writer_ = ByteRingWriter(indices_, bytes_);
  ASSERT_TRUE(Append(NumberedRecord(3, 50)));
  writer_.Publish();
  EXPECT_EQ(Take(9), (std::vector<Record>{NumberedRecord(1, 10),
                                          NumberedRecord(3, 50)}));
}

TEST_F(ByteRingTest, EmptiesARingWithALengthThatCannotBe) {
  for (const uint32_t length : {11u, 300u, 0xfffffffeu, 0xffffffffu}) {
    const uint64_t damages = reader_.damages();
    const auto room = writer_.Append(2, kTag);
    ASSERT_TRUE(room.has_value());
    std::memcpy(room->data() - 8, &length, sizeof length);
    writer_.Publish();
    EXPECT_TRUE(Take(9).empty()) << length;
    EXPECT_EQ(reader_.damages(), damages + 1) << length;
    EXPECT_TRUE(reader_.empty());
  }
  ASSERT_TRUE(Append(NumberedRecord(1, 10)));
  writer_.Publish();
  EXPECT_EQ(Take(9), std::vector<Record>{NumberedRecord(1, 10)});
}

TEST_F(ByteRingTest, EmptiesARingWithAnIndexThatCannotBe) {
  indices_.published = kBytes + 8;
  EXPECT_TRUE(Take(9).empty());
  EXPECT_EQ(reader_.damages(), 1u);
}

TEST_F(ByteRingTest, RefusesWhatDoesNotFitAndTakesItAfterRelease) {
  const Record half = NumberedRecord(1, writer_.max_record_bytes());
  ASSERT_TRUE(Append(half));
  ASSERT_TRUE(Append(half));
  EXPECT_FALSE(Append({}));
  writer_.Publish();
  ASSERT_EQ(Take(1).size(), 1u);
  reader_.Release(1);
  EXPECT_TRUE(Append(half));
}

TEST_F(ByteRingTest, TakesTheLongestRecordAtEveryPosition) {
  for (size_t i = 0; i < kBytes; ++i) {
    const Record longest = NumberedRecord(i, writer_.max_record_bytes());
    ASSERT_TRUE(Append(longest));
    writer_.Publish();
    ASSERT_EQ(Take(2), std::vector<Record>{longest});
    reader_.Release(1);
    ASSERT_TRUE(Append({}));
    writer_.Publish();
    ASSERT_EQ(Take(1).size(), 1u);
    reader_.Release(1);
  }
}

TEST_F(ByteRingTest, ReleaseAllDropsWhatIsPublished) {
  ASSERT_TRUE(Append(NumberedRecord(1, 10)));
  ASSERT_TRUE(Append(NumberedRecord(1, 10)));
  ASSERT_TRUE(Append(NumberedRecord(1, 10)));
  writer_.Publish();
  ASSERT_EQ(Take(1).size(), 1u);
  EXPECT_EQ(reader_.ReleaseAll(), 2u);
  EXPECT_TRUE(reader_.empty());
  ASSERT_TRUE(Append(NumberedRecord(2, 20)));
  writer_.Publish();
  EXPECT_EQ(Take(10), std::vector<Record>{NumberedRecord(2, 20)});
}

TEST_F(ByteRingTest, NewEndsGoOnWhereTheOldOnesStopped) {
  ASSERT_TRUE(Append(NumberedRecord(1, 10)));
  ASSERT_TRUE(Append(NumberedRecord(2, 20)));
  writer_.Publish();
  ASSERT_EQ(Take(1).size(), 1u);
  reader_.Release(1);
  writer_ = ByteRingWriter(indices_, bytes_);
  reader_ = ByteRingReader(indices_, bytes_);
  ASSERT_TRUE(Append(NumberedRecord(3, 30)));
  writer_.Publish();
  EXPECT_EQ(Take(10), (std::vector<Record>{NumberedRecord(2, 20),
                                           NumberedRecord(3, 30)}));
}

TEST_F(ByteRingTest, BehavesLikeAQueueOfRecords) {
  std::mt19937 random(1);
  std::deque<Record> model;
  size_t taken = 0;
  uint64_t number = 0;
  uint64_t refused = 0;
  for (int step = 0; step < 100'000; ++step) {
    if (random() % 2 == 0) {
      const size_t burst = random() % 4;
      for (size_t i = 0; i < burst; ++i) {
        const Record record =
            NumberedRecord(number, random() % (writer_.max_record_bytes() + 1));
        if (!Append(record)) {
          ++refused;
          break;
        }
        model.push_back(record);
        ++number;
      }
      writer_.Publish();
    } else {
      for (const Record& record : Take(random() % 4)) {
        ASSERT_LT(taken, model.size());
        ASSERT_EQ(record, model[taken++]);
      }
      const size_t release = random() % (taken + 1);
      reader_.Release(release);
      model.erase(model.begin(),
                  model.begin() + static_cast<std::ptrdiff_t>(release));
      taken -= release;
    }
    ASSERT_EQ(reader_.empty(), model.size() == taken);
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(number, 10'000u);
}

TEST(ByteRingThreadsTest, CarriesRecordsBetweenTwoThreadsInOrder) {
  constexpr uint64_t kRecords = 100'000;
  constexpr size_t kBytes = 1024;
  ByteRingIndices indices;
  std::vector<std::byte> bytes(kBytes);
  std::thread sender([&] {
    ByteRingWriter writer(indices, bytes);
    for (uint64_t number = 0; number < kRecords;) {
      for (size_t burst = 0; burst < 5 && number < kRecords; ++burst) {
        const size_t size = sizeof number + number % 100;
        const auto room = writer.Append(size, 0);
        if (!room.has_value()) break;
        std::memset(room->data(), static_cast<int>(number & 0xff), size);
        std::memcpy(room->data(), &number, sizeof number);
        ++number;
      }
      writer.Publish();
      std::this_thread::yield();
    }
  });
  ByteRingReader reader(indices, bytes);
  uint64_t expected = 0;
  uint64_t wrong = 0;
  while (expected < kRecords) {
    const size_t shown = reader.Take(7, [&](std::span<const std::byte> record,
                                            uint32_t) {
      uint64_t number = 0;
      std::memcpy(&number, record.data(), sizeof number);
      if (number != expected || record.size() != sizeof number + number % 100 ||
          (record.size() > sizeof number &&
           record.back() != static_cast<std::byte>(number))) {
        ++wrong;
      }
      ++expected;
    });
    reader.Release(shown);
    if (shown == 0) std::this_thread::yield();
  }
  sender.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_TRUE(reader.empty());
}

}  // namespace
}  // namespace weir
