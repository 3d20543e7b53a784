#include "weir/port/tx_shadow.h"

#include <array>
#include <cstdint>
#include <utility>

#include "gtest/gtest.h"
#include "test/support/fake_queues.h"

namespace weir {
namespace {

using testing::Lab;

void Push(TxShadow& shadow, Lab& lab, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    std::array<Mbuf*, 1> one{};
    ASSERT_EQ(lab.lcore.cache().Alloc(one), 1u);
    one[0]->Reset(0);
    shadow.Place(shadow.end(), *one[0]);
    shadow.SetEnd(shadow.end() + 1);
  }
}

TEST(TxShadowTest, FreesInRunsAcrossTheEndOfTheRing) {
  Lab lab;
  TxShadow shadow(16);
  shadow.UseCache(lab.lcore.cache());
  for (uint32_t i = 0; i < 100; ++i) {
    Push(shadow, lab, 11);
    EXPECT_EQ(shadow.size(), 11u);
    EXPECT_EQ(shadow.room(), 5u);
    EXPECT_EQ(lab.pool->used_mbufs(), 11u);
    shadow.FreeUpTo(shadow.end() - 4);
    EXPECT_EQ(lab.pool->used_mbufs(), 4u);
    shadow.FreeUpTo(shadow.end());
    EXPECT_EQ(lab.pool->used_mbufs(), 0u);
  }
}

TEST(TxShadowTest, GivesBackWhatWasWithdrawn) {
  Lab lab;
  TxShadow shadow(16);
  shadow.UseCache(lab.lcore.cache());
  Push(shadow, lab, 3);
  Mbuf& kept = testing::MakePacket(lab.lcore.cache(), testing::MakeFrame(1, 1));
  shadow.Place(shadow.end(), kept);
  shadow.SetEnd(shadow.end() + 1);
  shadow.SetEnd(shadow.end() - 1);
  shadow.FreeUpTo(shadow.end());
  EXPECT_EQ(lab.pool->used_mbufs(), 1u);
  const std::array<Mbuf*, 1> one{&kept};
  lab.lcore.cache().FreePackets(one);
}

TEST(TxShadowTest, LooksAtWhatItWasToldMayBeShared) {
  Lab lab;
  MbufCache& cache = lab.lcore.cache();
  TxShadow shadow(16);
  shadow.UseCache(cache);
  for (uint32_t round = 0; round < 50; ++round) {
    Mbuf& packet = testing::MakePacket(cache, testing::MakeFrame(10, 1));
    std::array<Mbuf*, 1> one{};
    ASSERT_EQ(cache.Alloc(one), 1u);
    cache.Refer(*one[0], packet, packet, 0, 10);
    Push(shadow, lab, 3);
    shadow.Place(shadow.end(), *one[0]);
    shadow.MarkShared(shadow.end() + 1);
    shadow.SetEnd(shadow.end() + 1);
    Push(shadow, lab, 2);
    // Up to the reference, with it, and what is behind.
    shadow.FreeUpTo(shadow.end() - 3);
    EXPECT_EQ(lab.pool->used_mbufs(), 4u);
    one[0] = &packet;
    cache.FreePackets(one);
    EXPECT_EQ(lab.pool->used_mbufs(), 4u);
    shadow.FreeUpTo(shadow.end() - 2);
    EXPECT_EQ(lab.pool->used_mbufs(), 2u);
    shadow.FreeUpTo(shadow.end());
    EXPECT_EQ(lab.pool->used_mbufs(), 0u);
  }
}

TEST(TxShadowTest, ReturnsItsMbufsWhenItGoes) {
  Lab lab;
  {
    TxShadow first(16);
    first.UseCache(lab.lcore.cache());
    Push(first, lab, 5);
    TxShadow second(std::move(first));
    TxShadow third(16);
    third.UseCache(lab.lcore.cache());
    Push(third, lab, 2);
    third = std::move(second);
    EXPECT_EQ(third.size(), 5u);
    EXPECT_EQ(lab.pool->used_mbufs(), 5u);
  }
  EXPECT_EQ(lab.pool->used_mbufs(), 0u);
}

}  // namespace
}  // namespace weir
