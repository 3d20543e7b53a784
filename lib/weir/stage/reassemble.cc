#include "weir/stage/reassemble.h"

#include <span>

#include "weir/stage/reassembly_add.h"

namespace weir {

void Reassemble::OnBurst(Burst& burst, Lcore& lcore) noexcept {
  // Several rounds: what one waits for, all wait for at once.
  std::array<ReassemblyFragment, kMaxBurst + 1> read;
  // They stay where they are until others take their places.
  const std::span<Mbuf* const> frames = burst.mbufs();
  Mbuf* const* const end = frames.data() + frames.size();
  const ReassemblyTable::Arrival arrival = table_.Read(frames, read);
  if (arrival.fragments == 0 && clock_ == ReassemblyClock::kTsc) return;
  const ReassemblyTable::Room room = table_.RoomFor(arrival);
  burst.ReleaseAll();
  MbufCache& cache = lcore.cache();
  const ReassemblyFragment* next = read.data();
  for (Mbuf* const* at = frames.data(); at != end;) {
    Mbuf& frame = **at;
    if (clock_ == ReassemblyClock::kFrames) AdvanceTo(frame, lcore);
    if (next->fault == ReassemblyFragment::Fault::kWhole) {
      burst.Adopt(frame);
      ++at;
      ++next;
      continue;
    }
    ReassemblyTable::Run run{};
    // On the clock of frames each of them has a time of its own.
    if (ReassemblyTable::MayRun(*next, room) &&
        clock_ == ReassemblyClock::kTsc) {
      run = table_.AddRun({at, end}, next, now_, cache);
    }
    if (run.frames == 0) {
      run = {1, table_.Add(frame, *next, now_, room, cache)};
    }
    at += run.frames;
    next += run.frames;
    if (run.result.outcome != ReassemblyTable::Outcome::kComplete) continue;
    Mbuf& datagram = *run.result.datagram;
    const Verdict verdict = parse_.OnReassembled(datagram, lcore);
    if (verdict.is_pass()) [[likely]] {
      burst.Adopt(datagram);
    } else {
      table_.Reject(datagram, verdict.reason(), cache);
    }
  }
  table_.Publish();
}

}  // namespace weir
