// What a stage is: a class that looks at packets and says what becomes of each.
// Stages know no queue, no ring and no other stage, so each is tested alone.
//
// A stage has kName and either
//   Verdict OnPacket(Mbuf&, Lcore&) noexcept   (PacketStage), or
//   void OnBurst(Burst&, Lcore&) noexcept      (BurstStage),
// and may have
//   void Tick(Lcore&) noexcept                 once a poll, empty or not,
//   void Close(Lcore&) noexcept                once, when nothing will come,
//   enum class Drop : uint8_t and kDropNames   why it drops packets.
// A burst stage may also have
//   const StageCounts<n>& counts() const noexcept   it counts for itself,
//   bool more() const noexcept                      it has another burst.

#ifndef WEIR_PIPELINE_STAGE_H_
#define WEIR_PIPELINE_STAGE_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf.h"
#include "weir/pipeline/lcore.h"

namespace weir {

// What becomes of a packet. Any thread.
class Verdict {
 public:
  // It goes on to the next stage.
  static constexpr Verdict Pass() noexcept { return Verdict(kPass); }

  // The stage owns it from now on.
  static constexpr Verdict Taken() noexcept { return Verdict(kTaken); }

  // The pipeline frees it and counts it under kDropNames[reason].
  template <typename Reason>
  requires std::is_enum_v<Reason>
  static constexpr Verdict Drop(Reason reason) noexcept {
    static_assert(sizeof(Reason) == 1, "a drop reason is an enum of uint8_t");
    return Verdict(static_cast<uint32_t>(reason) + kFirstReason);
  }

  constexpr bool is_pass() const noexcept { return code_ == kPass; }
  constexpr bool is_taken() const noexcept { return code_ == kTaken; }
  // Of a Drop only: the number of its reason.
  constexpr size_t reason() const noexcept { return code_ - kFirstReason; }

 private:
  static constexpr uint32_t kPass = 0;
  static constexpr uint32_t kTaken = 1;
  static constexpr uint32_t kFirstReason = 2;

  explicit constexpr Verdict(uint32_t code) noexcept : code_(code) {}

  uint32_t code_;
};

// Decides packet by packet. Adjacent ones share one loop over the burst.
template <typename T>
concept PacketStage = std::move_constructible<T> &&
    requires(T stage, Mbuf& mbuf, Lcore& lcore) {
  { stage.OnPacket(mbuf, lcore) }
  noexcept->std::same_as<Verdict>;
};

// Works over the whole burst: it may keep packets of it (they count as taken)
// and add some (they count as made), up to kMaxBurst. Called with an empty one
// for as long as its more() says so, and nothing is received meanwhile.
template <typename T>
concept BurstStage = std::move_constructible<T> &&
    requires(T stage, Burst& burst, Lcore& lcore) {
  { stage.OnBurst(burst, lcore) }
  noexcept->std::same_as<void>;
};

// Has a name of its own kind, or of its own.
template <typename T>
concept NamedPart = requires(const T& part) {
  { T::kName } -> std::convertible_to<absl::string_view>;
}
|| requires(const T& part) {
  { part.name() } -> std::convertible_to<absl::string_view>;
};

// Wants to be called once a poll.
template <typename T>
concept TickingStage = requires(T stage, Lcore& lcore) {
  stage.Tick(lcore);
};

// Counts by itself what it takes, makes, holds and drops, and frees what it
// drops: a stage that keeps packets and later lets them go or gives them up.
template <typename T>
concept CountingStage = BurstStage<T> && requires(const T& stage) {
  stage.counts();
};

// May have another burst without being given one.
template <typename T>
concept OverflowingStage = BurstStage<T> && requires(const T& stage) {
  { stage.more() }
  noexcept->std::same_as<bool>;
};

// Gives up what it holds when nothing more will come.
template <typename T>
concept ClosingStage = requires(T stage, Lcore& lcore) {
  { stage.Close(lcore) }
  noexcept->std::same_as<void>;
};

namespace internal {

template <typename T>
concept TicksNoexcept = requires(T stage, Lcore& lcore) {
  { stage.Tick(lcore) }
  noexcept;
};

// Instantiated once a stage, so that the compiler's message names the stage.
template <typename T>
struct CheckStage {
  static_assert(NamedPart<T>,
                "a stage has `static constexpr absl::string_view kName`");
  static_assert(PacketStage<T> != BurstStage<T>,
                "a stage is movable and has either `Verdict OnPacket(Mbuf&, "
                "Lcore&) noexcept` or `void OnBurst(Burst&, Lcore&) noexcept`");
  static_assert(!TickingStage<T> || TicksNoexcept<T>,
                "Tick of a stage is `void Tick(Lcore&) noexcept`");
  static constexpr bool kOk = true;
};

}  // namespace internal

// How many reasons to drop T names.
template <typename T>
constexpr size_t DropCount() noexcept {
  if constexpr (requires { T::kDropNames.size(); }) {
    return T::kDropNames.size();
  } else {
    return 0;
  }
}

// Those names; none for a part that never drops.
template <typename T>
constexpr std::span<const absl::string_view> DropNames() noexcept {
  if constexpr (DropCount<T>() != 0) {
    return T::kDropNames;
  } else {
    return {};
  }
}

// The name of a stage, an inlet or an outlet; `fallback` for one without.
template <typename T>
absl::string_view NameOf(const T& part, absl::string_view fallback) {
  if constexpr (requires { part.name(); }) {
    return part.name();
  } else if constexpr (NamedPart<T>) {
    return T::kName;
  } else {
    return fallback;
  }
}

// The port or ring behind an inlet or outlet; its name, if it has none.
template <typename T>
std::string PlaceOf(const T& part) {
  if constexpr (requires { part.place(); }) {
    return std::string(part.place());
  } else if constexpr (requires { part.port_name(); }) {
    return std::string(part.port_name());
  } else {
    return std::string(NameOf(part, "?"));
  }
}

}  // namespace weir

#endif  // WEIR_PIPELINE_STAGE_H_
