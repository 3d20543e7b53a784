// That no wake-up is lost: every interleaving of producers and a consumer that
// sleeps, over the real rings, bells and doorbells, with every value that their
// loads may read. A wake-up that is lost leaves a thread that cannot go on.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/interleaving.h"
#include "test/support/model_atomic.h"
#include "weir/ring/doorbell.h"
#include "weir/ring/mpmc_ring.h"
#include "weir/ring/ring_bell.h"
#include "weir/ring/spsc_ring.h"

namespace weir {
namespace {

using testing::Explore;
using testing::Explored;
using ::testing::HasSubstr;
using testing::Interleaving;
using testing::ModelAtomic;

constexpr absl::string_view kAsleep = "no thread can go on";

// What a sleeper sleeps on. As the system does, waking and being woken order
// what comes before and after.
class ModelEvent {
 public:
  void Wake() {
    order_.fetch_add(1, std::memory_order_acq_rel);
    is_set_ = true;
  }
  void Sleep(Interleaving& run) {
    run.Await([this] { return is_set_; });
    order_.fetch_add(1, std::memory_order_acq_rel);
    is_set_ = false;
  }

 private:
  ModelAtomic<uint32_t> order_{0};
  bool is_set_ = false;
};

// The one of the run that is being made: bells have no other way to reach it.
ModelEvent*& TheEvent() {
  static ModelEvent* event = nullptr;
  return event;
}

struct ModelMemory {
  template <typename T>
  using Atomic = ModelAtomic<T>;

  // The model does not reorder instructions; loads may read old values.
  static void LightFence() noexcept {}
  static void Wake(int) noexcept { TheEvent()->Wake(); }
};

// As if Quiet took back whatever Arm there is.
template <typename T>
class TicketBlind : public ModelAtomic<T> {
 public:
  using ModelAtomic<T>::ModelAtomic;
  bool compare_exchange_strong(T& expected, T desired,
                               std::memory_order success,
                               std::memory_order failure) noexcept {
    return this->Swap(expected, desired, success, failure,
                      [](T, T) { return true; });
  }
};
struct TicketBlindMemory : ModelMemory {
  template <typename T>
  using Atomic = TicketBlind<T>;
};

// The least that is a ring, for as many threads as would make too many ways of
// a real one: how many are in it.
class Tally {
 public:
  explicit Tally(uint32_t) {}

  size_t Enqueue(std::span<const uint32_t> in) noexcept {
    held_.fetch_add(static_cast<uint32_t>(in.size()),
                    std::memory_order_release);
    return in.size();
  }
  size_t Dequeue(std::span<uint32_t>) noexcept {
    if (held_.load(std::memory_order_acquire) == 0) return 0;
    return held_.exchange(0, std::memory_order_acquire);
  }

 private:
  ModelAtomic<uint32_t> held_{0};
};

// What a sleeper or a producer does not do.
enum class Broken : uint8_t { kNothing, kNoFence, kNoLook, kRingsTooEarly };

using Spsc = SpscRing<uint32_t, ModelAtomic>;
using Mpmc = MpmcRing<uint32_t, ModelAtomic>;

// How many numbers each producer sends, in bursts of one.
struct Load {
  uint32_t producers = 1;
  uint32_t each = 1;
  // The consumer ends when the ring does, not when it has taken all.
  bool closes = false;
  Broken broken = Broken::kNothing;
};

template <typename Ring, typename Memory = ModelMemory>
class Lab {
 public:
  Lab(Interleaving& run, const Load& load)
      : run_(run), load_(load), ring_(kCapacity) {
    TheEvent() = &event_;
  }

  void Produce() {
    for (uint32_t i = 0; i < load_.each; ++i) {
      if (load_.broken == Broken::kRingsTooEarly) bell_.Ring();
      // There is room for all.
      run_.Expect(ring_.Enqueue(std::span(&i, 1)) == 1, "the ring is full");
      if (load_.broken != Broken::kRingsTooEarly) bell_.Ring();
    }
    if (!load_.closes || --open_ != 0) return;
    is_last_.store(1);
    bell_.Ring();
  }

  // As the poll loop of a worker: ends when the ring has.
  void Consume() {
    bool is_armed = false;
    while (true) {
      const bool ends = load_.closes && is_last_.load() != 0;
      std::array<uint32_t, 2> out;
      const size_t count = ring_.Dequeue(out);
      taken_ += static_cast<uint32_t>(count);
      if (load_.closes ? count == 0 && ends : taken_ == all()) return;
      if (count != 0) {
        if (is_armed) bell_.Disarm();
        is_armed = false;
        continue;
      }
      const bool is_new = bell_.Arm(0);
      is_armed = true;
      if (is_new && load_.broken != Broken::kNoFence) run_.FenceAll();
      if (is_new && load_.broken != Broken::kNoLook) continue;
      event_.Sleep(run_);
      bell_.Disarm();
      is_armed = false;
    }
  }

  uint32_t taken() const { return taken_; }
  uint32_t all() const { return load_.producers * load_.each; }

 private:
  static constexpr uint32_t kCapacity = 4;

  Interleaving& run_;
  Load load_;
  Ring ring_;
  ModelEvent event_;
  BasicRingBell<Memory> bell_;
  // Of producers; no thread reads it but in the step in which it was written.
  uint32_t open_ = load_.producers;
  ModelAtomic<uint32_t> is_last_{0};
  uint32_t taken_ = 0;
};

template <typename Ring, typename Memory = ModelMemory>
Explored All(const Load& load) {
  return Explore([&load](Interleaving& run) {
    Lab<Ring, Memory> lab(run, load);
    for (uint32_t i = 0; i < load.producers; ++i) {
      run.Spawn([&lab] { lab.Produce(); });
    }
    run.Spawn([&lab] { lab.Consume(); });
    run.Run();
    run.Expect(lab.taken() == lab.all(), "numbers are lost");
  });
}

void ExpectNoneLost(const Explored& all) {
  EXPECT_EQ(all.failure, "");
  EXPECT_GT(all.runs, 20u);
  ::testing::Test::RecordProperty("states", std::to_string(all.states));
}

TEST(RingBellModelTest, LosesNoWakeUpOfOneProducer) {
  ExpectNoneLost(All<Spsc>({}));
  ExpectNoneLost(All<Mpmc>({}));
  ExpectNoneLost(All<Tally>({.each = 2}));
}

TEST(RingBellModelTest, LosesNoWakeUpOfTwoProducers) {
  ExpectNoneLost(All<Tally>({.producers = 2}));
}

TEST(RingBellModelTest, LosesNoEnd) {
  ExpectNoneLost(All<Spsc>({.each = 0, .closes = true}));
  ExpectNoneLost(All<Tally>({.closes = true}));
}

TEST(RingBellModelTest, WouldLoseOneWithoutTheFence) {
  EXPECT_THAT(All<Spsc>({.broken = Broken::kNoFence}).failure,
              HasSubstr(kAsleep));
  EXPECT_THAT(All<Mpmc>({.broken = Broken::kNoFence}).failure,
              HasSubstr(kAsleep));
}

TEST(RingBellModelTest, WouldLoseOneWithoutTheSecondLook) {
  EXPECT_THAT(All<Spsc>({.broken = Broken::kNoLook}).failure,
              HasSubstr(kAsleep));
  EXPECT_THAT(All<Mpmc>({.broken = Broken::kNoLook}).failure,
              HasSubstr(kAsleep));
}

TEST(RingBellModelTest, WouldLoseOneIfTheProducerLookedFirst) {
  EXPECT_THAT(All<Spsc>({.broken = Broken::kRingsTooEarly}).failure,
              HasSubstr(kAsleep));
}

TEST(RingBellModelTest, WouldLoseOneWithoutTickets) {
  EXPECT_THAT((All<Tally, TicketBlindMemory>({.each = 2})).failure,
              HasSubstr(kAsleep));
}

// The doorbell of wires: what it is armed with and asked by are one step each,
// and nobody makes a fence.
struct Wire {
  BasicDoorbell<ModelAtomic> doorbell;
  ModelAtomic<uint32_t> published{0};
  ModelEvent event;
};

Explored AllOfDoorbell(Broken broken) {
  return Explore([broken](Interleaving& run) {
    Wire wire;
    for (int i = 0; i < 2; ++i) {
      run.Spawn([&wire] {
        wire.published.fetch_add(1, std::memory_order_relaxed);
        const uint32_t ticket = wire.doorbell.armed();
        if (ticket == BasicDoorbell<ModelAtomic>::kQuiet) return;
        wire.event.Wake();
        wire.doorbell.Quiet(ticket);
      });
    }
    run.Spawn([&run, &wire, broken] {
      while (wire.published.load(std::memory_order_relaxed) != 2) {
        wire.doorbell.Arm();
        const bool looks = broken != Broken::kNoLook;
        if (looks && wire.published.load(std::memory_order_relaxed) == 2) break;
        wire.event.Sleep(run);
      }
    });
    run.Run();
  });
}

TEST(DoorbellModelTest, LosesNoWakeUpOfTwoSenders) {
  ExpectNoneLost(AllOfDoorbell(Broken::kNothing));
}

TEST(DoorbellModelTest, WouldLoseOneWithoutTheSecondLook) {
  EXPECT_THAT(AllOfDoorbell(Broken::kNoLook).failure, HasSubstr(kAsleep));
}

}  // namespace
}  // namespace weir
