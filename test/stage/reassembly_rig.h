// Parse and Reassemble with frames of a test's own, one at a time, on the clock
// of frames. Whatever came, nothing is left when the time of all is up.

#ifndef WEIR_TEST_STAGE_REASSEMBLY_RIG_H_
#define WEIR_TEST_STAGE_REASSEMBLY_RIG_H_

#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "test/support/fake_queues.h"
#include "test/support/frame.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf.h"
#include "weir/pipeline/stage.h"
#include "weir/stage/parse.h"
#include "weir/stage/reassemble.h"

namespace weir::testing {

inline constexpr uint64_t kSecond = 1'000'000'000;

// `Stage` is Reassemble or one that has its interface.
template <typename Stage>
class BasicReassemblyRig {
 public:
  // `extra` is what Stage::Create wants behind the options.
  template <typename... Extra>
  explicit BasicReassemblyRig(ReassemblyOptions options = {},
                              uint32_t mbufs = 2048, Extra... extra)
      : lab_(mbufs),
        stage_(*Stage::Create(OnFrameClock(std::move(options)),
                              std::move(extra)...)) {}
  BasicReassemblyRig(const BasicReassemblyRig&) = delete;
  BasicReassemblyRig& operator=(const BasicReassemblyRig&) = delete;
  ~BasicReassemblyRig() {
    ExpectBooksBalance();
    // Longer than any timeout; the clock is that of frames.
    Send(MakeFrame(60, 0xee), now_ + 3600 * kSecond);
    for (int i = 0; i < 10'000 && held() != 0; ++i) Tick();
    EXPECT_EQ(held(), 0);
    EXPECT_EQ(stage_.bytes_held(), 0);
    EXPECT_EQ(lab_.pool->used_mbufs(), 0);
    stage_.Close(lab_.lcore);
    EXPECT_EQ(stage_.datagrams().pending.value(), 0);
    EXPECT_EQ(stage_.datagrams().remembered.value(), 0);
    ExpectBooksBalance();
  }

  // Sends `frame` at `now`; what came out is in out().
  void Send(const Bytes& frame, uint64_t now = 0) {
    Mbuf& packet = MakePacket(lab_.lcore.cache(), frame);
    SendPacket(packet, now);
  }
  void SendAll(const std::vector<Bytes>& frames, uint64_t now = 0) {
    for (const Bytes& frame : frames) Send(frame, now);
  }
  void SendPacket(Mbuf& packet, uint64_t now = 0) {
    now_ = now;
    packet.set_timestamp_ns(now);
    Burst burst(lab_.lcore.cache());
    burst.Adopt(packet);
    if (!parse_.OnPacket(packet, lab_.lcore).is_pass()) return;
    ++in_;
    stage_.OnBurst(burst, lab_.lcore);
    Collect(burst);
    SendMore();
  }
  // A poll without packets.
  void Tick() {
    stage_.Tick(lab_.lcore);
    SendMore();
  }

  // All that came out; of the last packet what is said of it.
  const std::vector<Bytes>& out() const { return out_; }
  const PacketInfo& info() const { return info_; }
  uint32_t segments() const { return segments_; }

  uint64_t held() const { return stage_.counts().held.value(); }
  const DatagramCounts& datagrams() const { return stage_.datagrams(); }
  uint64_t bytes_held() const { return stage_.bytes_held(); }
  uint64_t drops(ReassemblyDrop reason) const {
    return stage_.counts().drops[static_cast<size_t>(reason)].value();
  }
  uint64_t drops(absl::string_view name) const {
    for (size_t i = 0; i < Reassemble::kDropNames.size(); ++i) {
      if (Reassemble::kDropNames[i] == name) {
        return stage_.counts().drops[i].value();
      }
    }
    ADD_FAILURE() << "no drop is called " << name;
    return 0;
  }
  uint64_t given_up(ReassemblyDrop reason) const {
    return datagrams().given_up[static_cast<size_t>(reason)].value();
  }
  Lab& lab() { return lab_; }
  Stage& stage() { return stage_; }

 private:
  void Collect(const Burst& burst) {
    for (const Mbuf* mbuf : burst.mbufs()) {
      out_.push_back(BytesOf(*mbuf));
      info_ = mbuf->info();
      segments_ = mbuf->segments();
      EXPECT_EQ(mbuf->frame_bytes(), out_.back().size());
    }
    out_count_ += burst.size();
  }
  // As pipelines do.
  void SendMore() {
    if constexpr (OverflowingStage<Stage>) {
      while (stage_.more()) {
        Burst burst(lab_.lcore.cache());
        stage_.OnBurst(burst, lab_.lcore);
        Collect(burst);
      }
    }
  }
  static ReassemblyOptions OnFrameClock(ReassemblyOptions options) {
    options.clock = ReassemblyClock::kFrames;
    return options;
  }

  void ExpectBooksBalance() const {
    const auto& counts = stage_.counts();
    uint64_t dropped = 0;
    for (const Counter& drop : counts.drops) dropped += drop.value();
    EXPECT_EQ(in_ + counts.made.value(),
              out_count_ + counts.taken.value() + held() + dropped);
    uint64_t given_up = 0;
    for (const Counter& count : datagrams().given_up) given_up += count.value();
    EXPECT_EQ(
        datagrams().begun.value(),
        datagrams().completed.value() + given_up + datagrams().pending.value());
  }

  Lab lab_;
  Parse parse_;
  Stage stage_;
  std::vector<Bytes> out_;
  PacketInfo info_;
  uint32_t segments_ = 0;
  uint64_t in_ = 0;
  uint64_t out_count_ = 0;
  uint64_t now_ = 0;
};

using ReassemblyRig = BasicReassemblyRig<Reassemble>;

}  // namespace weir::testing

#endif  // WEIR_TEST_STAGE_REASSEMBLY_RIG_H_
