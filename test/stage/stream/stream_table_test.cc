#include "weir/stage/stream/stream_table.h"

#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "weir/base/counter.h"

namespace weir {
namespace {

constexpr uint64_t kIdle = 100;

struct Value {
  Counter count;
};
const auto kNobodyGoes = [](const Value&) { ADD_FAILURE() << "one went"; };

StreamKey KeyOf(uint32_t id) {
  return MakeStreamKey(*net::ParseIpAddress("192.0.2.1"),
                       *net::ParseIpAddress("239.1.2.3"), 1, 2, id);
}

TEST(StreamTableTest, NamesStreamsOfBothFamilies) {
  for (const auto& [source, destination] :
       {std::pair("192.0.2.1", "239.1.2.3"),
        std::pair("2001:db8::1", "ff3e::8000:5")}) {
    const StreamName name = NameOfStream(
        MakeStreamKey(*net::ParseIpAddress(source),
                      *net::ParseIpAddress(destination), 65535, 1, 0xabcdef12));
    EXPECT_EQ(net::ToString(name.source), source);
    EXPECT_EQ(net::ToString(name.destination), destination);
    EXPECT_EQ(name.source_port, 65535);
    EXPECT_EQ(name.destination_port, 1);
    EXPECT_EQ(name.id, 0xabcdef12U);
  }
}

TEST(StreamTableTest, KeepsTheStateOfEachStream) {
  StreamTable<Value> table(4096, kIdle);
  for (int round = 0; round < 3; ++round) {
    for (uint32_t id = 0; id < 100; ++id) {
      Value* const value = table.Find(KeyOf(id), 1, kNobodyGoes);
      ASSERT_NE(value, nullptr);
      EXPECT_EQ(value->count.value(), id * static_cast<uint32_t>(round));
      value->count.Add(id);
    }
  }
  std::map<uint32_t, uint64_t> all;
  table.ForEach([&](const StreamKey& key, const Value& value) {
    all[NameOfStream(key).id] = value.count.value();
  });
  EXPECT_EQ(all.size(), 100U);
  for (const auto& [id, count] : all) EXPECT_EQ(count, 3 * id);
}

TEST(StreamTableTest, HasNoRoomWhileAllAreHeard) {
  StreamTable<Value> table(8, kIdle);
  for (uint32_t id = 0; id < 8; ++id) {
    ASSERT_NE(table.Find(KeyOf(id), 1, kNobodyGoes), nullptr);
  }
  EXPECT_EQ(table.Find(KeyOf(8), kIdle, kNobodyGoes), nullptr);
  EXPECT_EQ(table.no_room(), 1U);
  EXPECT_NE(table.Find(KeyOf(3), kIdle, kNobodyGoes), nullptr);
}

TEST(StreamTableTest, GivesThePlaceOfTheLongestSilentOne) {
  StreamTable<Value> table(8, kIdle);
  for (uint32_t id = 0; id < 8; ++id) {
    table.Find(KeyOf(id), 1, kNobodyGoes)->count.Add(1000 + id);
  }
  for (uint32_t id = 0; id < 8; ++id) {
    if (id != 5) table.Find(KeyOf(id), 2, kNobodyGoes);
  }
  uint64_t gone = 0;
  Value* const value = table.Find(
      KeyOf(8), 1 + kIdle, [&](const Value& old) { gone = old.count.value(); });
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(value->count.value(), 0U);
  EXPECT_EQ(gone, 1005U);
  EXPECT_EQ(table.evicted(), 1U);
  // It has to find a place again, and there is none.
  EXPECT_EQ(table.Find(KeyOf(5), 1 + kIdle, kNobodyGoes), nullptr);
}

TEST(StreamTableTest, BeginsWithTheStateItWasGiven) {
  Value fresh;
  fresh.count.Set(7);
  StreamTable<Value> table(8, kIdle, fresh);
  EXPECT_EQ(table.Find(KeyOf(1), 1, kNobodyGoes)->count.value(), 7U);
}

}  // namespace
}  // namespace weir
