// The send half of a queue pair. A posted frame goes to the medium at once and
// leaves no trace but its completion, if it wants one; only what the medium has
// no room for is kept.

#ifndef WEIR_HCA_SEND_QUEUE_H_
#define WEIR_HCA_SEND_QUEUE_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weir/base/spin_lock.h"
#include "weir/hca/memory_region.h"
#include "weir/hca/send_burst.h"
#include "weir/hca/tso.h"
#include "weir/hca/work_queue.h"
#include "weir/hca/work_state.h"

namespace weir::hca {

class CompletionQueue;
class Port;

class SendQueue : public WorkQueue {
 public:
  struct Options {
    uint32_t number;
    uint32_t depth;
    uint32_t max_sge;
    uint32_t max_inline_bytes;
    // 0: no TSO.
    uint32_t max_tso_header_bytes = 0;
    bool signal_all;
  };
  // Whether the queue failed in a call, so that the caller fails the rest of
  // the queue pair.
  enum class Fate : bool { kUnchanged, kFailed };

  SendQueue(CompletionQueue& cq, Port& port, const Options& options,
            MrTable& regions, const ibv_pd* pd);

  // ibv_post_send: 0, EINVAL (state, opcode, SGE count, inline size, empty
  // frame, what TsoCutter refuses) or ENOMEM (no slot is free: a polled
  // completion frees its own and all before it). Any thread.
  int Post(ibv_send_wr* wr, ibv_send_wr** bad, Fate& fate) noexcept;

  // The same, but posts all requests or none. Any thread.
  int PostAll(ibv_send_wr* wr, Fate& fate) noexcept;

  // Offers the medium again what it had no room for. Any thread.
  Fate Retry() noexcept;

  // Fails the queue from outside: everything unsent is flushed. Any thread.
  void Fail() noexcept;

  // Completes the oldest unsent request with `status`, an error, and flushes
  // the rest; false if there is none. Any thread.
  bool FailNext(ibv_wc_status status) noexcept;

  // Enters a state; kRefuses also forgets all and returns how many frames were
  // never sent. Any thread.
  uint32_t Enter(WorkState state) noexcept;

  bool failed() noexcept;

  // Accepts requests from now on and sends none until `until_ns` of the steady
  // clock, if that is not 0, or until kRefuses is entered; false unless it
  // works. Any thread.
  bool Stall(uint64_t until_ns) noexcept;

  // Whether what was posted waits because the medium had no room. Any thread.
  bool WaitsForMedium() noexcept;

 private:
  struct Slot {
    uint64_t wr_id;
    unsigned flags;
    uint32_t num_sge;
    // Of TSO only, else 0.
    uint32_t mss;
    uint32_t tso_header_bytes;
  };
  // A TSO request, posted or stored.
  struct Tso {
    TsoHeader header;
    std::span<const ibv_sge> sges;
    uint64_t wr_id;
    unsigned flags;
  };
  enum class TsoOutcome : uint8_t { kSent, kFull, kFaulty };

  int PostLocked(ibv_send_wr*& wr, Fate& fate) noexcept;
  int CheckAll(const ibv_send_wr* wr) const noexcept;
  int Check(const ibv_send_wr& wr) const noexcept;
  int CheckTso(const ibv_send_wr& wr, uint64_t bytes) const noexcept;
  bool IsSignaled(unsigned flags) const noexcept {
    return signal_all_ || (flags & IBV_SEND_SIGNALED) != 0;
  }
  uint32_t Room() const noexcept { return depth_ - (posted_ - retired()); }
  ibv_send_wr* GatherPlain(ibv_send_wr* wr, size_t limit) noexcept;
  size_t Transmit() noexcept;
  bool IsStalled() noexcept;
  bool Gather(std::span<const ibv_sge> sges, unsigned flags) noexcept;
  int SendNow(ibv_send_wr*& wr) noexcept;
  int SendTsoNow(ibv_send_wr*& wr) noexcept;
  TsoOutcome SendTso(const Tso& tso) noexcept;
  bool AppendSegments(TsoCutter& cutter, const Tso& tso) noexcept;
  void CompleteTso(const Tso& tso) noexcept;
  void SendStored() noexcept;
  bool SendStoredTso() noexcept;
  int Store(ibv_send_wr*& wr) noexcept;
  void StoreTso(const ibv_send_wr& wr, size_t place) noexcept;
  uint32_t UnsentFrames() const noexcept;
  void Complete(size_t taken) noexcept;
  void FailAt(uint64_t wr_id, ibv_wc_status status) noexcept;
  void Flush() noexcept;
  void NoteBacklog() noexcept;

  SpinLock lock_;
  WorkState state_ = WorkState::kRefuses;
  bool signal_all_;
  bool has_backlog_ = false;
  bool is_stalled_ = false;
  // Whether the medium had no room for all of the last burst.
  bool was_full_ = false;
  // Free-running: posted, given to the medium (or failed).
  uint32_t posted_ = 0;
  uint32_t sent_ = 0;
  uint32_t depth_;
  uint32_t max_sge_;
  uint32_t max_inline_bytes_;
  uint32_t max_tso_header_bytes_;
  MrCache regions_;
  CompletionQueue& cq_;
  Port& port_;
  SendBurst burst_;
  // Of the oldest unsent request, if that is TSO.
  TsoProgress tso_done_;
  uint64_t stalled_until_ns_ = 0;
  // What waits for room in the medium only below.
  uint32_t mask_;
  std::vector<Slot> slots_;
  std::vector<ibv_sge> sges_;
  std::vector<std::byte> inline_data_;
  std::vector<std::byte> tso_headers_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_SEND_QUEUE_H_
