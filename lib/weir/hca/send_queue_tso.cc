// The part of SendQueue that cuts TSO requests. They go to the medium one at a
// time, in bursts of their segments.

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "weir/hca/completion_queue.h"
#include "weir/hca/limits.h"
#include "weir/hca/port.h"
#include "weir/hca/send_queue.h"
#include "weir/hca/sge.h"

namespace weir::hca {
namespace {

TsoHeader HeaderOf(const ibv_send_wr& wr) {
  return {.bytes = {static_cast<const std::byte*>(wr.tso.hdr), wr.tso.hdr_sz},
          .mss = wr.tso.mss};
}

}  // namespace

int SendQueue::CheckTso(const ibv_send_wr& wr, uint64_t bytes) const noexcept {
  if (wr.tso.hdr == nullptr || wr.tso.hdr_sz > max_tso_header_bytes_ ||
      bytes > kMaxTsoBytes ||
      !TsoCutter::Create(HeaderOf(wr), bytes).has_value()) {
    return EINVAL;
  }
  return 0;
}

// As SendNow, for a TSO request at the front of the list.
int SendQueue::SendTsoNow(ibv_send_wr*& wr) noexcept {
  const int error = Check(*wr);
  if (error != 0) return error;
  if (Room() == 0) return ENOMEM;
  const Tso tso = {.header = HeaderOf(*wr),
                   .sges = {wr->sg_list, static_cast<size_t>(wr->num_sge)},
                   .wr_id = wr->wr_id,
                   .flags = wr->send_flags};
  const TsoOutcome outcome = SendTso(tso);
  if (outcome == TsoOutcome::kFull) return 0;
  ++posted_;
  wr = wr->next;
  if (outcome == TsoOutcome::kFaulty) {
    FailAt(tso.wr_id, IBV_WC_LOC_PROT_ERR);
  } else {
    CompleteTso(tso);
  }
  return 0;
}

// As SendStored, for a TSO request; false if the medium is full.
bool SendQueue::SendStoredTso() noexcept {
  const size_t place = sent_ & mask_;
  const Slot& slot = slots_[place];
  const Tso tso = {
      .header = {.bytes = std::span(tso_headers_)
                              .subspan(place * max_tso_header_bytes_,
                                       slot.tso_header_bytes),
                 .mss = slot.mss},
      .sges = std::span(sges_).subspan(place * max_sge_, slot.num_sge),
      .wr_id = slot.wr_id,
      .flags = slot.flags};
  const TsoOutcome outcome = SendTso(tso);
  if (outcome == TsoOutcome::kFull) return false;
  if (outcome == TsoOutcome::kFaulty) {
    FailAt(tso.wr_id, IBV_WC_LOC_PROT_ERR);
  } else {
    CompleteTso(tso);
  }
  return true;
}

// Goes on with a request that was checked, from tso_done_ on.
SendQueue::TsoOutcome SendQueue::SendTso(const Tso& tso) noexcept {
  auto cutter = TsoCutter::Create(tso.header, TotalBytes(tso.sges));
  if (!cutter.has_value()) return TsoOutcome::kFaulty;
  do {
    size_t taken = 0;
    {
      const std::lock_guard hold(port_.send_lock());
      regions_.Refresh();
      if (!AppendSegments(*cutter, tso)) return TsoOutcome::kFaulty;
      taken = Transmit();
    }
    for (size_t i = 0; i < taken; ++i) {
      tso_done_.payload_bytes += cutter->PayloadAt(tso_done_);
      ++tso_done_.segments;
    }
    if (taken < burst_.frames().size()) return TsoOutcome::kFull;
  } while (!cutter->finished());
  tso_done_ = {};
  return TsoOutcome::kSent;
}

// Makes a burst of segments from tso_done_ on; false if an SGE is outside of
// its region.
bool SendQueue::AppendSegments(TsoCutter& cutter, const Tso& tso) noexcept {
  const bool is_inline = (tso.flags & IBV_SEND_INLINE) != 0;
  std::array<iovec, kMaxSge> payload;
  size_t count = 0;
  for (const ibv_sge& sge : tso.sges) {
    // Its address and key may be anything.
    if (sge.length == 0) continue;
    std::byte* const data = is_inline ? AddressOf(sge) : regions_.Resolve(sge);
    if (data == nullptr) return false;
    payload[count++] = {data, sge.length};
  }
  cutter.Start(std::span(payload).first(count), tso_done_);
  burst_.Clear();
  while (!cutter.finished() && burst_.HasRoom()) burst_.AddTso(cutter);
  return true;
}

void SendQueue::CompleteTso(const Tso& tso) noexcept {
  ++sent_;
  if (!IsSignaled(tso.flags)) return;
  BurstClock clock;
  Completion completion = {.wr_id = tso.wr_id,
                           .queue = this,
                           .status = IBV_WC_SUCCESS,
                           .opcode = IBV_WC_TSO,
                           .byte_len = 0,
                           .done = sent_};
  const std::lock_guard hold(cq_.lock());
  cq_.Stamp(completion, clock);
  if (!cq_.Push(completion)) state_ = WorkState::kFlushes;
}

// The rest of Store for a TSO request.
void SendQueue::StoreTso(const ibv_send_wr& wr, size_t place) noexcept {
  slots_[place].mss = wr.tso.mss;
  slots_[place].tso_header_bytes = wr.tso.hdr_sz;
  std::memcpy(tso_headers_.data() + place * max_tso_header_bytes_, wr.tso.hdr,
              wr.tso.hdr_sz);
}

// What the requests that are not sent would have been on the medium.
uint32_t SendQueue::UnsentFrames() const noexcept {
  uint32_t frames = posted_ - sent_;
  for (uint32_t i = sent_; i != posted_; ++i) {
    const size_t place = i & mask_;
    const Slot& slot = slots_[place];
    if (slot.mss == 0) continue;
    const uint64_t bytes =
        TotalBytes(std::span(sges_).subspan(place * max_sge_, slot.num_sge));
    frames += static_cast<uint32_t>((bytes + slot.mss - 1) / slot.mss) - 1;
  }
  return frames - tso_done_.segments;
}

}  // namespace weir::hca
