// The begin of a pipeline: its inlet, and the counts of it.

#ifndef WEIR_PIPELINE_INGRESS_H_
#define WEIR_PIPELINE_INGRESS_H_

#include <array>
#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"
#include "weir/mbuf/burst.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/queue.h"
#include "weir/pipeline/sleep.h"
#include "weir/pipeline/stage.h"
#include "weir/pipeline/stage_stats.h"
#include "weir/pipeline/tap_point.h"

namespace weir::internal {

// Owner lcore only, save AddTo.
template <Inlet In>
class Ingress {
 public:
  // Whether it has a way to let nothing more come from outside.
  static constexpr bool kCloses = requires(In inlet) { inlet.Close(); };
  // Whether what waits in it was received before, by another pipeline.
  static constexpr bool kBetweenLcores = requires { In::kBetweenLcores; };

  explicit Ingress(In inlet) : inlet_(std::move(inlet)) {}

  // Fills `burst`, which is empty, and returns how many came.
  uint32_t Receive(Burst& burst, Lcore& lcore) noexcept {
    inlet_.Receive(burst, lcore);
    const uint32_t received = burst.size();
    if (received != 0) stats_.packets.Add(received);
    return received;
  }

  void AddTime(uint32_t packets, uint64_t tsc) noexcept {
    stats_.AddTime(packets, tsc);
  }

  // True once no packet will ever come; of an inlet that cannot say so, never.
  bool finished() const noexcept {
    if constexpr (requires { inlet_.finished(); }) {
      return inlet_.finished();
    } else {
      return false;
    }
  }

  // Of a pipeline that stops: true when the inlet has given what it had.
  bool IsThrough() noexcept {
    if constexpr (kCloses) {
      return inlet_.Close();
    } else if constexpr (kBetweenLcores) {
      return inlet_.finished();
    } else {
      return true;
    }
  }

  // Gives up what an inlet that closes still has, as "received at stop", and
  // what waits in a ring behind another pipeline, as `exit` does.
  template <typename Exit>
  void Abandon(Exit& exit, Lcore& lcore) noexcept {
    Burst burst(lcore.cache());
    if constexpr (kCloses) {
      while (!inlet_.Close()) {
        stats_.drops[0].Add(Receive(burst, lcore));
        for (const Mbuf* mbuf : burst.mbufs()) {
          ShowDrop(lcore, *mbuf, NameOf(inlet_, kName), kDropNames[0]);
        }
        burst.Clear();
      }
    } else if constexpr (kBetweenLcores) {
      while (Receive(burst, lcore) != 0) exit.Abandon(burst, lcore);
    }
  }

  // Of one that can say when it has something: see sleep.h.
  void Arm(Sleep& sleep) noexcept { inlet_.Arm(sleep); }
  void Disarm() noexcept { inlet_.Disarm(); }

  // Adds the inlet as the first stage. Any thread.
  void AddTo(PipelineSnapshot& all) const {
    all.from = PlaceOf(inlet_);
    all.received = stats_.packets.value();
    all.stages.push_back(ReadStage(NameOf(inlet_, kName), kDropNames, stats_));
    if constexpr (requires { inlet_.ring(); }) all.ring = inlet_.ring();
  }

 private:
  static constexpr absl::string_view kName = "receive";
  static constexpr std::array<absl::string_view, kCloses ? 1 : 0>
  MakeDropNames() {
    if constexpr (kCloses) {
      return {"received at stop"};
    } else {
      return {};
    }
  }
  static constexpr auto kDropNames = MakeDropNames();

  In inlet_;
  StageStats<kDropNames.size()> stats_;
};

}  // namespace weir::internal

#endif  // WEIR_PIPELINE_INGRESS_H_
