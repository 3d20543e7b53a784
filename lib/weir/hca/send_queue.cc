#include "weir/hca/send_queue.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "weir/hca/clock.h"
#include "weir/hca/completion_queue.h"
#include "weir/hca/port.h"
#include "weir/hca/raw_enum.h"
#include "weir/hca/sge.h"

namespace weir::hca {
namespace {

bool IsTso(const ibv_send_wr& wr) { return RawEnum(wr.opcode) == IBV_WR_TSO; }

}  // namespace

SendQueue::SendQueue(CompletionQueue& cq, Port& port, const Options& options,
                     MrTable& regions, const ibv_pd* pd)
    : WorkQueue(options.number),
      signal_all_(options.signal_all),
      depth_(options.depth),
      max_sge_(options.max_sge),
      max_inline_bytes_(options.max_inline_bytes),
      max_tso_header_bytes_(options.max_tso_header_bytes),
      regions_(regions, pd, MrCache::Access::kRead),
      cq_(cq),
      port_(port),
      mask_(std::bit_ceil(options.depth) - 1),
      slots_(mask_ + size_t{1}),
      sges_(slots_.size() * max_sge_),
      inline_data_(slots_.size() * max_inline_bytes_),
      tso_headers_(slots_.size() * max_tso_header_bytes_) {}

int SendQueue::Post(ibv_send_wr* wr, ibv_send_wr** bad, Fate& fate) noexcept {
  const std::lock_guard hold(lock_);
  const int error = PostLocked(wr, fate);
  if (error != 0) *bad = wr;
  return error;
}

int SendQueue::PostAll(ibv_send_wr* wr, Fate& fate) noexcept {
  const std::lock_guard hold(lock_);
  const int error = CheckAll(wr);
  return error != 0 ? error : PostLocked(wr, fate);
}

int SendQueue::CheckAll(const ibv_send_wr* wr) const noexcept {
  if (state_ == WorkState::kRefuses) return EINVAL;
  uint32_t room = Room();
  for (; wr != nullptr; wr = wr->next) {
    const int error = Check(*wr);
    if (error != 0) return error;
    if (room == 0) return ENOMEM;
    --room;
  }
  return 0;
}

// On return `wr` is the first request that was not posted.
inline int SendQueue::PostLocked(ibv_send_wr*& wr, Fate& fate) noexcept {
  fate = Fate::kUnchanged;
  int error = 0;
  if (state_ == WorkState::kWorks) {
    if (sent_ == posted_ && !IsStalled()) error = SendNow(wr);
    if (state_ == WorkState::kFlushes) fate = Fate::kFailed;
  } else if (state_ == WorkState::kRefuses) {
    error = EINVAL;
  }
  // What is left waits for the medium, or to be flushed.
  if (error == 0 && wr != nullptr) error = Store(wr);
  if (state_ == WorkState::kFlushes) Flush();
  NoteBacklog();
  return error;
}

int SendQueue::Check(const ibv_send_wr& wr) const noexcept {
  if (wr.num_sge < 1 || static_cast<uint32_t>(wr.num_sge) > max_sge_) {
    return EINVAL;
  }
  const uint64_t bytes =
      TotalBytes({wr.sg_list, static_cast<size_t>(wr.num_sge)});
  const bool is_inline = (wr.send_flags & IBV_SEND_INLINE) != 0;
  if (bytes == 0 || (is_inline && bytes > max_inline_bytes_)) return EINVAL;
  if (IsTso(wr)) return CheckTso(wr, bytes);
  if (RawEnum(wr.opcode) != IBV_WR_SEND || bytes > kMaxFrameBytes) {
    return EINVAL;
  }
  return 0;
}

// Appends frames from `wr` on to the burst, up to `limit` frames in it, as long
// as they are of the common kind: one SGE, in the region used last. Returns the
// first request that is not.
inline ibv_send_wr* SendQueue::GatherPlain(ibv_send_wr* wr,
                                           size_t limit) noexcept {
  const MrView region = regions_.view();
  SendBurst::Appender frames(burst_);
  for (; wr != nullptr && frames.position() < limit; wr = wr->next) {
    constexpr unsigned kSpecial = IBV_SEND_IP_CSUM | IBV_SEND_INLINE;
    if (wr->num_sge != 1 || RawEnum(wr->opcode) != IBV_WR_SEND ||
        (wr->send_flags & kSpecial) != 0) {
      break;
    }
    const ibv_sge& sge = *wr->sg_list;
    std::byte* const data = region.Resolve(sge);
    if (data == nullptr || sge.length == 0 || sge.length > kMaxFrameBytes) {
      break;
    }
    if (IsSignaled(wr->send_flags)) {
      burst_.AddSignal(frames.position(), wr->wr_id);
    }
    frames.Add(data, sge.length);
  }
  burst_.Accept(frames);
  return wr;
}

// Appends a frame to the burst; false if an SGE is outside of its region.
inline bool SendQueue::Gather(std::span<const ibv_sge> sges,
                              unsigned flags) noexcept {
  const bool is_inline = (flags & IBV_SEND_INLINE) != 0;
  const bool is_checksummed = (flags & IBV_SEND_IP_CSUM) != 0;
  if (is_checksummed) {
    burst_.BeginChecksummed();
  } else {
    burst_.Begin();
  }
  uint32_t bytes = 0;
  for (const ibv_sge& sge : sges) {
    // Its address and key may be anything.
    if (sge.length == 0) continue;
    std::byte* const data = is_inline ? AddressOf(sge) : regions_.Resolve(sge);
    if (data == nullptr) [[unlikely]] {
      return false;
    }
    burst_.AddSegment(data, sge.length);
    bytes += sge.length;
  }
  if (is_checksummed) {
    burst_.EndChecksummed(bytes);
  } else {
    burst_.End(bytes);
  }
  return true;
}

// Sends from the list straight away. On return `wr` is the first request that
// was not dealt with: null, refused (the result says why), or left because the
// medium is full or the queue has failed.
int SendQueue::SendNow(ibv_send_wr*& wr) noexcept {
  while (wr != nullptr && state_ == WorkState::kWorks) {
    ibv_send_wr* const first = wr;
    int error = 0;
    if (IsTso(*wr)) [[unlikely]] {
      error = SendTsoNow(wr);
      if (error != 0 || wr == first) return error;
      continue;
    }
    burst_.Clear();
    bool faulty = false;
    size_t taken = 0;
    const uint32_t room = Room();
    const size_t plain =
        max_sge_ == 0 ? 0 : std::min<size_t>(room, kBurstFrames);
    {
      const std::lock_guard hold(port_.send_lock());
      regions_.Refresh();
      wr = GatherPlain(wr, plain);
      for (; wr != nullptr && !IsTso(*wr) && burst_.HasRoom(); wr = wr->next) {
        error = Check(*wr);
        if (error == 0 && burst_.frames().size() == room) error = ENOMEM;
        if (error != 0) [[unlikely]] {
          break;
        }
        const std::span<const ibv_sge> sges(wr->sg_list,
                                            static_cast<size_t>(wr->num_sge));
        if (!Gather(sges, wr->send_flags)) [[unlikely]] {
          faulty = true;
          break;
        }
        if (IsSignaled(wr->send_flags)) burst_.AddSignal(wr->wr_id);
      }
      taken = Transmit();
    }
    posted_ += static_cast<uint32_t>(taken);
    Complete(taken);
    if (taken < burst_.frames().size()) {
      wr = first;
      for (size_t i = 0; i < taken; ++i) wr = wr->next;
      return 0;
    }
    if (faulty) {
      ++posted_;
      FailAt(wr->wr_id, IBV_WC_LOC_PROT_ERR);
      wr = wr->next;
      return 0;
    }
    if (error != 0) return error;
  }
  return 0;
}

// Gives the burst to the medium, under the send lock of the port.
size_t SendQueue::Transmit() noexcept {
  const size_t taken = port_.Transmit(burst_.frames());
  was_full_ = taken < burst_.frames().size();
  return taken;
}

inline bool SendQueue::IsStalled() noexcept {
  if (is_stalled_ && stalled_until_ns_ != 0 && SteadyNs() >= stalled_until_ns_)
      [[unlikely]] {
    is_stalled_ = false;
  }
  return is_stalled_;
}

bool SendQueue::Stall(uint64_t until_ns) noexcept {
  const std::lock_guard hold(lock_);
  if (state_ != WorkState::kWorks) return false;
  is_stalled_ = true;
  stalled_until_ns_ = until_ns;
  return true;
}

bool SendQueue::WaitsForMedium() noexcept {
  const std::lock_guard hold(lock_);
  return has_backlog_ && was_full_ && !IsStalled();
}

// Accounts for the first `taken` frames of the burst.
void SendQueue::Complete(size_t taken) noexcept {
  const uint32_t base = sent_;
  sent_ += static_cast<uint32_t>(taken);
  const auto signals = burst_.signals();
  if (signals.empty() || signals.front().position >= taken) return;
  BurstClock clock;
  const std::lock_guard hold(cq_.lock());
  for (const SendBurst::Signal& signal : signals) {
    if (signal.position >= taken) break;
    Completion completion = {.wr_id = signal.wr_id,
                             .queue = this,
                             .status = IBV_WC_SUCCESS,
                             .opcode = IBV_WC_SEND,
                             .byte_len = 0,
                             .done = base + signal.position + 1};
    cq_.Stamp(completion, clock);
    if (!cq_.Push(completion)) state_ = WorkState::kFlushes;
  }
}

// The oldest unsent request has an SGE outside of its region, or meets a fault.
void SendQueue::FailAt(uint64_t wr_id, ibv_wc_status status) noexcept {
  state_ = WorkState::kFlushes;
  tso_done_ = {};
  ++sent_;
  const std::lock_guard hold(cq_.lock());
  cq_.Push({.wr_id = wr_id,
            .queue = this,
            .status = status,
            .opcode = IBV_WC_SEND,
            .byte_len = 0,
            .done = sent_});
}

int SendQueue::Store(ibv_send_wr*& wr) noexcept {
  uint32_t room = Room();
  for (; wr != nullptr; wr = wr->next) {
    const int error = Check(*wr);
    if (error != 0) return error;
    if (room == 0) return ENOMEM;
    --room;
    const size_t place = posted_++ & mask_;
    const auto num_sge = static_cast<uint32_t>(wr->num_sge);
    slots_[place] = {.wr_id = wr->wr_id,
                     .flags = wr->send_flags,
                     .num_sge = num_sge,
                     .mss = 0,
                     .tso_header_bytes = 0};
    if (IsTso(*wr)) StoreTso(*wr, place);
    ibv_sge* const sges = sges_.data() + place * max_sge_;
    std::copy_n(wr->sg_list, num_sge, sges);
    if ((wr->send_flags & IBV_SEND_INLINE) == 0) continue;
    std::byte* to = inline_data_.data() + place * max_inline_bytes_;
    for (uint32_t i = 0; i < num_sge; ++i) {
      if (sges[i].length == 0) continue;
      std::memcpy(to, AddressOf(sges[i]), sges[i].length);
      sges[i].addr = std::bit_cast<uintptr_t>(to);
      to += sges[i].length;
    }
  }
  return 0;
}

void SendQueue::SendStored() noexcept {
  while (state_ == WorkState::kWorks && sent_ != posted_) {
    if (slots_[sent_ & mask_].tso_header_bytes > 0) {
      if (!SendStoredTso()) return;
      continue;
    }
    burst_.Clear();
    bool faulty = false;
    size_t taken = 0;
    {
      const std::lock_guard hold(port_.send_lock());
      regions_.Refresh();
      for (uint32_t i = sent_; i != posted_ && burst_.HasRoom(); ++i) {
        const size_t place = i & mask_;
        const Slot& slot = slots_[place];
        if (slot.tso_header_bytes > 0) break;
        const std::span<const ibv_sge> sges(sges_.data() + place * max_sge_,
                                            slot.num_sge);
        faulty = !Gather(sges, slot.flags);
        if (faulty) break;
        if (IsSignaled(slot.flags)) burst_.AddSignal(slot.wr_id);
      }
      taken = Transmit();
    }
    Complete(taken);
    if (taken < burst_.frames().size()) return;
    if (faulty) FailAt(slots_[sent_ & mask_].wr_id, IBV_WC_LOC_PROT_ERR);
  }
}

SendQueue::Fate SendQueue::Retry() noexcept {
  const std::lock_guard hold(lock_);
  if (!has_backlog_ || IsStalled()) return Fate::kUnchanged;
  SendStored();
  const bool failed = state_ == WorkState::kFlushes;
  if (failed) Flush();
  NoteBacklog();
  return failed ? Fate::kFailed : Fate::kUnchanged;
}

void SendQueue::Flush() noexcept {
  tso_done_ = {};
  if (sent_ == posted_) return;
  const std::lock_guard hold(cq_.lock());
  for (; sent_ != posted_; ++sent_) {
    cq_.Push({.wr_id = slots_[sent_ & mask_].wr_id,
              .queue = this,
              .status = IBV_WC_WR_FLUSH_ERR,
              .opcode = IBV_WC_SEND,
              .byte_len = 0,
              .done = sent_ + 1});
  }
}

void SendQueue::NoteBacklog() noexcept {
  const bool waits = sent_ != posted_;
  if (waits == has_backlog_) return;
  has_backlog_ = waits;
  port_.ChangeBacklog(waits ? 1 : -1);
  if (waits) cq_.WatchBacklog();
}

void SendQueue::Fail() noexcept {
  const std::lock_guard hold(lock_);
  state_ = WorkState::kFlushes;
  Flush();
  NoteBacklog();
}

bool SendQueue::FailNext(ibv_wc_status status) noexcept {
  const std::lock_guard hold(lock_);
  if (state_ != WorkState::kWorks || sent_ == posted_) return false;
  FailAt(slots_[sent_ & mask_].wr_id, status);
  Flush();
  NoteBacklog();
  return true;
}

uint32_t SendQueue::Enter(WorkState state) noexcept {
  const std::lock_guard hold(lock_);
  state_ = state;
  const uint32_t unsent = UnsentFrames();
  if (state == WorkState::kFlushes) Flush();
  if (state == WorkState::kRefuses) {
    const std::lock_guard hold_cq(cq_.lock());
    cq_.Forget(this);
    posted_ = sent_ = 0;
    is_stalled_ = false;
    tso_done_ = {};
    Retire(0);
  }
  NoteBacklog();
  return state == WorkState::kRefuses ? unsent : 0;
}

bool SendQueue::failed() noexcept {
  const std::lock_guard hold(lock_);
  return state_ == WorkState::kFlushes;
}

}  // namespace weir::hca
