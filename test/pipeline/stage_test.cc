#include "weir/pipeline/stage.h"

#include <array>
#include <cstdint>

#include "gtest/gtest.h"
#include "weir/pipeline/each.h"

namespace weir {
namespace {

enum class Reason : uint8_t { kFirst, kSecond };

struct Packetwise {
  static constexpr absl::string_view kName = "packetwise";
  static constexpr std::array<absl::string_view, 2> kDropNames = {"a", "b"};
  Verdict OnPacket(Mbuf&, Lcore&) noexcept { return Verdict::Pass(); }
};

struct Burstwise {
  absl::string_view name() const { return "burstwise"; }
  void OnBurst(Burst&, Lcore&) noexcept {}
  void Tick(Lcore&) noexcept {}
};

struct MayThrow {
  absl::string_view name() const { return "may-throw"; }
  Verdict OnPacket(Mbuf&, Lcore&) { return Verdict::Pass(); }
};

static_assert(PacketStage<Packetwise> && !BurstStage<Packetwise>);
static_assert(BurstStage<Burstwise> && !PacketStage<Burstwise>);
static_assert(!PacketStage<MayThrow>);
static_assert(TickingStage<Burstwise> && !TickingStage<Packetwise>);

TEST(VerdictTest, TellsItsThreeKindsApart) {
  EXPECT_TRUE(Verdict::Pass().is_pass());
  EXPECT_FALSE(Verdict::Pass().is_taken());
  EXPECT_TRUE(Verdict::Taken().is_taken());
  EXPECT_FALSE(Verdict::Taken().is_pass());
  EXPECT_FALSE(Verdict::Drop(Reason::kFirst).is_pass());
  EXPECT_FALSE(Verdict::Drop(Reason::kFirst).is_taken());
}

TEST(VerdictTest, KeepsTheReason) {
  EXPECT_EQ(Verdict::Drop(Reason::kFirst).reason(), 0u);
  EXPECT_EQ(Verdict::Drop(Reason::kSecond).reason(), 1u);
}

TEST(StageTest, HasTheNameOfItsKindOrItsOwn) {
  EXPECT_EQ(NameOf(Packetwise{}, "none"), "packetwise");
  EXPECT_EQ(NameOf(Burstwise{}, "none"), "burstwise");
  EXPECT_EQ(NameOf(5, "none"), "none");
  EXPECT_EQ(NameOf(Each("mine", [](Mbuf&) {}), "none"), "mine");
}

TEST(StageTest, ListsItsDropNames) {
  EXPECT_EQ(DropNames<Packetwise>().size(), 2u);
  EXPECT_EQ(DropNames<Packetwise>()[1], "b");
  EXPECT_TRUE(DropNames<Burstwise>().empty());
}

}  // namespace
}  // namespace weir
