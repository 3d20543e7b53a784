#include "weir/port/queue_stats.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

uint64_t Drop(const QueueStats& stats, const std::string& name) {
  for (const NamedCount& drop : stats.drops) {
    if (drop.name == name) return drop.value;
  }
  ADD_FAILURE() << "no drop named " << name;
  return 0;
}

TEST(QueueStatsTest, CountsFlushedReceivesAmongTheCompletions) {
  RxCounters counters;
  counters.posts.Add(100);
  counters.packets.Add(60);
  counters.bytes.Add(6000);
  counters.errors.Add(1);
  counters.flushed.Add(10);
  counters.pool_dry.Add(4);
  counters.held_mbufs.Set(30);
  const QueueStats stats = Snapshot("rx0", counters);
  EXPECT_EQ(stats.name, "rx0");
  EXPECT_EQ(stats.posts, 100u);
  EXPECT_EQ(stats.completions, 70u);
  EXPECT_EQ(stats.packets, 60u);
  EXPECT_EQ(stats.bytes, 6000u);
  EXPECT_EQ(stats.held_mbufs, 30u);
  EXPECT_EQ(Drop(stats, "pool-dry"), 4u);
}

TEST(QueueStatsTest, NamesEveryDropOfASend) {
  TxCounters counters;
  counters.posts.Add(10);
  counters.completions.Add(7);
  counters.held_packets.Set(3);
  counters.empty.Add(1);
  counters.too_long.Add(2);
  counters.too_many_segments.Add(3);
  counters.no_tailroom.Add(4);
  counters.refused.Add(5);
  counters.lost_in_recovery.Add(6);
  const QueueStats stats = Snapshot("tx0", counters);
  EXPECT_EQ(stats.posts, stats.completions + stats.held_packets);
  EXPECT_EQ(Drop(stats, "empty"), 1u);
  EXPECT_EQ(Drop(stats, "too-long"), 2u);
  EXPECT_EQ(Drop(stats, "too-many-segments"), 3u);
  EXPECT_EQ(Drop(stats, "no-tailroom"), 4u);
  EXPECT_EQ(Drop(stats, "refused"), 5u);
  EXPECT_EQ(Drop(stats, "lost-in-recovery"), 6u);
}

}  // namespace
}  // namespace weir
