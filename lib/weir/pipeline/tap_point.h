// A place where packets can be looked at while they pass: copies of their front
// go into a ring that another thread reads. Off, it costs one relaxed load;
// on, the lcore copies and goes on, whoever reads: what finds the ring full is
// counted and not copied.

#ifndef WEIR_PIPELINE_TAP_POINT_H_
#define WEIR_PIPELINE_TAP_POINT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "weir/base/counter.h"
#include "weir/mbuf/mbuf.h"
#include "weir/pipeline/lcore.h"
#include "weir/ring/byte_ring.h"
#include "weir/ring/published.h"

namespace weir {

// What happened to a packet when it was seen.
enum class TapKind : uint8_t { kReceived, kSent, kPassed, kDropped };
inline constexpr size_t kTapKinds = 4;

// Stands in front of the copied bytes in a ring.
struct TapRecord {
  // ReadTsc() when the lcore began the poll.
  uint64_t tsc;
  // Receive time of the device, nanoseconds since the Unix epoch; 0 if unknown.
  uint64_t timestamp_ns;
  // Of a drop: the stage and the reason, as the table of an app has them.
  absl::string_view stage;
  absl::string_view reason;
  // The whole frame; what was copied may be less.
  uint32_t frame_bytes;
  TapKind kind;
};

// The ring of a place: written by its lcore, read by one other thread.
class TapRing {
 public:
  // `bytes` is a power of two.
  explicit TapRing(size_t bytes)
      : memory_(bytes),
        writer_(indices_, memory_),
        reader_(indices_, memory_) {}
  TapRing(const TapRing&) = delete;
  TapRing& operator=(const TapRing&) = delete;
  ~TapRing() = default;

  ByteRingWriter& writer() noexcept { return writer_; }
  ByteRingReader& reader() noexcept { return reader_; }

  // Packets that found it full, by kind. The lcore counts; any thread reads.
  std::span<Counter, kTapKinds> lost() noexcept { return lost_; }

 private:
  ByteRingIndices indices_;
  std::vector<std::byte> memory_;
  ByteRingWriter writer_;
  ByteRingReader reader_;
  std::array<Counter, kTapKinds> lost_;
};

// Not movable: the lcore that passes and the thread that looks share it.
class TapPoint {
 public:
  TapPoint() : wish_(Wish{}) {}
  TapPoint(const TapPoint&) = delete;
  TapPoint& operator=(const TapPoint&) = delete;
  ~TapPoint() = default;

  // Whether somebody looks. Owner lcore only.
  bool is_on() const noexcept { return is_on_.value() != 0; }

  // Copies those of `packets`, which just happened to be `kind`, that somebody
  // wants. Owner lcore only, while is_on().
  void Show(TapKind kind, std::span<Mbuf* const> packets,
            uint64_t tsc) noexcept;
  // The same with a packet that `stage` drops for `reason`; the names have to
  // live as long as the ring.
  void ShowDrop(const Mbuf& packet, absl::string_view stage,
                absl::string_view reason, uint64_t tsc) noexcept;

  // What is copied from now on: of the kinds in `kinds`, a bit each, the first
  // `snaplen_bytes`, into `ring`. One thread at a time, which is not the lcore.
  void TurnOn(uint32_t kinds, uint32_t snaplen_bytes,
              std::shared_ptr<TapRing> ring);
  void TurnOff();

  static constexpr uint32_t BitOf(TapKind kind) noexcept {
    return uint32_t{1} << static_cast<uint8_t>(kind);
  }

 private:
  struct Wish {
    uint32_t kinds = 0;
    uint32_t snaplen_bytes = 0;
    std::shared_ptr<TapRing> ring;
  };

  static void Copy(const Wish& wish, const Mbuf& packet,
                   const TapRecord& record) noexcept;

  Counter is_on_;
  Published<Wish> wish_;
};

// Shows `packet`, which `stage` is about to free for `reason`, to who looks at
// what this lcore drops; both names are constants. Owner lcore only.
inline void ShowDrop(Lcore& lcore, const Mbuf& packet, absl::string_view stage,
                     absl::string_view reason) noexcept {
  if (TapPoint* const tap = lcore.drop_tap(); tap != nullptr) [[unlikely]] {
    tap->ShowDrop(packet, stage, reason, lcore.now_tsc());
  }
}

namespace internal {

// Has drops of a pipeline be shown while it lives, if somebody looks at `tap`.
class DropsShown {
 public:
  DropsShown(TapPoint& tap, Lcore& lcore) noexcept : lcore_(lcore) {
    if (tap.is_on()) lcore.set_drop_tap(&tap);
  }
  DropsShown(const DropsShown&) = delete;
  DropsShown& operator=(const DropsShown&) = delete;
  ~DropsShown() { lcore_.set_drop_tap(nullptr); }

 private:
  Lcore& lcore_;
};

}  // namespace internal

// A tap point and where it is, for those who choose among several.
struct TapPlace {
  std::shared_ptr<TapPoint> point;
  // Where its packets come from and go to, as PipelineSnapshot says; of a place
  // within a pipeline its name, and nothing.
  std::string from;
  std::string to;
  uint32_t lcore = 0;
};

}  // namespace weir

#endif  // WEIR_PIPELINE_TAP_POINT_H_
