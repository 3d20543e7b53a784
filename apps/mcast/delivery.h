// The ends of a pipeline that delivers datagrams: what gives them to a sink,
// and what only counts them.

#ifndef APPS_MCAST_DELIVERY_H_
#define APPS_MCAST_DELIVERY_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/string_view.h"
#include "apps/mcast/sink.h"
#include "weir/base/counter.h"
#include "weir/mbuf/burst.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/queue.h"
#include "weir/pipeline/sleep.h"
#include "weir/pipeline/stage_stats.h"
#include "weir/stage/udp/udp_payload.h"

namespace weir::mcast {

// What became of datagrams. The lcore that delivers writes.
struct DeliveryCounts {
  Counter datagrams;
  // Of payload.
  Counter bytes;
  // Bytes of one more that were written so far.
  Counter partial_bytes;
  // The sink could not take them: each for itself, or all since it failed.
  Counter refused;
  Counter failed;
  // What came when there were as many as were wanted.
  Counter surplus;
  // The sink had no room for them when the run was to end.
  Counter abandoned;
  // Delivered, but the system said later that nobody took them.
  Counter returned;
  // An errno, 0 so far.
  Counter failure;
  // Not 0: the run is to end, and what finds no room is given up from this time
  // of the TSC on. The control thread writes.
  Counter give_up_tsc;
};

// Counts what it is given, up to a limit, and frees it. An outlet. Owner lcore
// only.
class CountDatagrams {
 public:
  static constexpr absl::string_view kName = "count";

  // `limit` of 0: none.
  CountDatagrams(uint64_t limit, std::shared_ptr<DeliveryCounts> counts)
      : limit_(limit == 0 ? std::numeric_limits<uint64_t>::max() : limit),
        counts_(std::move(counts)) {}

  void Send(Burst& burst, Lcore&) noexcept {
    const auto wanted = static_cast<uint32_t>(
        std::min<uint64_t>(burst.size(), limit_ - counts_->datagrams.value()));
    for (uint32_t i = 0; i < wanted; ++i) Count(burst[i]);
    counts_->surplus.Add(burst.size() - wanted);
    burst.Clear();
  }
  void Reap(Lcore&) noexcept {}
  bool Flush(Lcore&) noexcept { return true; }
  void Arm(Sleep&) noexcept {}
  void Disarm() noexcept {}

  // Any thread.
  void AddTo(StageSnapshot& stage) const {
    stage.drops.push_back({"beyond --count", counts_->surplus.value()});
  }

 protected:
  void Count(const Mbuf& packet) noexcept {
    counts_->datagrams.Add(1);
    counts_->bytes.Add(FindUdpPayload(packet).value_or(UdpPayload{}).bytes);
  }
  bool has_enough() const noexcept {
    return counts_->datagrams.value() >= limit_;
  }
  uint64_t missing() const noexcept {
    return limit_ - counts_->datagrams.value();
  }
  DeliveryCounts& counts() const noexcept { return *counts_; }

 private:
  uint64_t limit_;
  std::shared_ptr<DeliveryCounts> counts_;
};

// Gives what it is given to a sink, in order, and waits for it: for an lcore
// that does nothing else. An outlet. Owner lcore only.
class Deliver : private CountDatagrams {
 public:
  static constexpr absl::string_view kName = "deliver";

  Deliver(std::shared_ptr<Sink> sink, uint64_t limit,
          std::shared_ptr<DeliveryCounts> counts)
      : CountDatagrams(limit, std::move(counts)), sink_(std::move(sink)) {}

  void Send(Burst& burst, Lcore& lcore) noexcept {
    while (!burst.empty()) {
      if (counts().failure.value() != 0) {
        counts().failed.Add(burst.size());
        burst.Clear();
        return;
      }
      if (has_given_up_) {
        counts().abandoned.Add(burst.size());
        burst.Clear();
        return;
      }
      if (has_enough()) {
        counts().surplus.Add(burst.size());
        burst.Clear();
        return;
      }
      const auto wanted =
          static_cast<uint32_t>(std::min<uint64_t>(burst.size(), missing()));
      const Sink::Outcome outcome = sink_->Deliver(burst.mbufs().first(wanted));
      for (uint32_t i = 0; i < outcome.delivered; ++i) Count(burst[i]);
      counts().partial_bytes.Set(outcome.partial_bytes);
      CountReturned(outcome.returned);
      if (outcome.refused) counts().refused.Add(1);
      FreeFront(burst, outcome.delivered + (outcome.refused ? 1 : 0), lcore);
      if (sink_->failure() != 0) {
        counts().failure.Set(static_cast<uint64_t>(sink_->failure()));
      } else if (outcome.delivered < wanted && !outcome.refused) {
        const uint64_t give_up_tsc = counts().give_up_tsc.value();
        if (give_up_tsc == 0 || lcore.now_tsc() < give_up_tsc) return;
        // The sink may hold a part of the first one: nothing may follow it.
        has_given_up_ = true;
      }
    }
  }
  using CountDatagrams::Arm;
  using CountDatagrams::Disarm;
  using CountDatagrams::Reap;

  bool Flush(Lcore&) noexcept {
    if (counts().failure.value() == 0) {
      CountReturned(sink_->Deliver({}).returned);
    }
    return true;
  }

  // Any thread.
  void AddTo(StageSnapshot& stage) const {
    CountDatagrams::AddTo(stage);
    stage.drops.push_back({"refused by the system", counts().refused.value()});
    stage.drops.push_back({"delivery failed", counts().failed.value()});
    stage.drops.push_back({"no room at the end", counts().abandoned.value()});
    stage.drops.push_back({"returned by ICMP", counts().returned.value()});
  }

 private:
  // More than were delivered cannot have come back, whatever forgers say.
  void CountReturned(uint32_t more) noexcept {
    if (more == 0) return;
    counts().returned.Set(
        std::min(counts().returned.value() + more, counts().datagrams.value()));
  }
  static void FreeFront(Burst& burst, uint32_t count, Lcore& lcore) noexcept {
    lcore.cache().FreePackets(burst.mbufs().first(count));
    burst.ReleaseFront(count);
  }

  std::shared_ptr<Sink> sink_;
  bool has_given_up_ = false;
};

static_assert(Outlet<CountDatagrams> && Outlet<Deliver>);

}  // namespace weir::mcast

#endif  // APPS_MCAST_DELIVERY_H_
