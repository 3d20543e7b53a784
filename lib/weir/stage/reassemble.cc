#include "weir/stage/reassemble.h"

#include <span>

namespace weir {

void Reassemble::OnBurst(Burst& burst, Lcore& lcore) noexcept {
  // Three rounds: what one waits for, all wait for at once.
  std::array<ReassemblyFragment, kMaxBurst> fragments;
  std::array<Mbuf*, kMaxBurst> frames;
  const std::span<Mbuf* const> came = burst.mbufs();
  const size_t count = came.size();
  ReassemblyFragment nobody;
  nobody.key = DatagramKey::Nobody();
  const ReassemblyFragment* before = &nobody;
  for (size_t i = 0; i < count; ++i) {
    frames[i] = came[i];
    if (came[i]->info().is_fragment()) {
      table_.Read(*came[i], *before, fragments[i]);
      before = &fragments[i];
    } else {
      fragments[i].fault = ReassemblyFragment::Fault::kWhole;
      fragments[i].follows = true;
    }
  }
  if (before == &nobody && clock_ == ReassemblyClock::kTsc) return;
  for (size_t i = 0; i < count; ++i) table_.Approach(fragments[i]);
  burst.ReleaseAll();
  MbufCache& cache = lcore.cache();
  for (size_t i = 0; i < count; ++i) {
    if (clock_ == ReassemblyClock::kFrames) AdvanceTo(*frames[i], lcore);
    if (fragments[i].fault == ReassemblyFragment::Fault::kWhole) {
      burst.Adopt(*frames[i]);
      continue;
    }
    const ReassemblyTable::Result result =
        table_.Add(*frames[i], fragments[i], now_, cache);
    if (result.outcome != ReassemblyTable::Outcome::kComplete) continue;
    const Verdict verdict = parse_.OnReassembled(*result.datagram, lcore);
    if (verdict.is_pass()) [[likely]] {
      burst.Adopt(*result.datagram);
    } else {
      table_.Reject(*result.datagram, verdict.reason(), cache);
    }
  }
  table_.Publish();
}

}  // namespace weir
