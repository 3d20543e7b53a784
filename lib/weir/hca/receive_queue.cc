#include "weir/hca/receive_queue.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <mutex>

#include "weir/hca/completion_queue.h"
#include "weir/net/ethernet.h"
#include "weir/net/load_store.h"
#include "weir/net/mac_address.h"

namespace weir::hca {
namespace {

// Whose buffer is fetched, in slots ahead of the one that is filled: it was
// last touched when it was posted, a whole queue ago.
constexpr uint32_t kFetchedAhead = 16;

}  // namespace

ReceiveQueue::ReceiveQueue(CompletionQueue& cq, const Options& options,
                           MrTable& regions, const ibv_pd* pd)
    : WorkQueue(options.number),
      mask_(std::bit_ceil(options.depth) - 1),
      strips_cvlan_(options.strips_cvlan),
      regions_(regions, pd, MrCache::Access::kWrite),
      slots_(mask_ + size_t{1}),
      depth_(options.depth),
      max_sge_(options.max_sge),
      more_sges_(slots_.size() * (std::max(max_sge_, 1u) - 1)),
      cq_(cq) {
  cq_.AddReceiver();
}

ReceiveQueue::~ReceiveQueue() {
  const std::lock_guard hold(cq_.lock());
  cq_.RemoveReceiver();
}

int ReceiveQueue::Post(ibv_recv_wr* wr, ibv_recv_wr** bad) noexcept {
  int error = 0;
  bool flushes = false;
  {
    const std::lock_guard hold(lock_);
    if (state_ == WorkState::kRefuses) error = EINVAL;
    const uint32_t end = retired() + depth_;
    uint32_t posted = posted_;
    for (; error == 0 && wr != nullptr; wr = wr->next) {
      if (wr->num_sge < 0 || static_cast<uint32_t>(wr->num_sge) > max_sge_) {
        error = EINVAL;
      } else if (posted == end) {
        error = ENOMEM;
      } else {
        Store(*wr, posted++);
        continue;
      }
      break;
    }
    posted_ = posted;
    flushes = state_ == WorkState::kFlushes;
  }
  if (error != 0) *bad = wr;
  if (flushes) FlushIfFailed();
  return error;
}

inline void ReceiveQueue::Store(const ibv_recv_wr& wr,
                                uint32_t position) noexcept {
  const uint32_t index = position & mask_;
  Slot& slot = slots_[index];
  slot.wr_id = wr.wr_id;
  slot.num_sge = static_cast<uint32_t>(wr.num_sge);
  if (wr.num_sge == 1) [[likely]] {
    slot.first = wr.sg_list[0];
    return;
  }
  slot.first = wr.num_sge == 0 ? ibv_sge{} : wr.sg_list[0];
  for (uint32_t i = 1; i < slot.num_sge; ++i) {
    more_sges_[index * (max_sge_ - size_t{1}) + i - 1] = wr.sg_list[i];
  }
}

size_t ReceiveQueue::FillPlain(std::span<const RxFrame> frames,
                               uint32_t max_bytes,
                               ibv_wc* completions) noexcept {
  if (strips_cvlan_) [[unlikely]] {
    return 0;
  }
  // In registers: what is written through std::byte* may alias the members.
  const MrView region = regions_.view();
  const Slot* const slots = slots_.data();
  const uint32_t mask = mask_;
  uint32_t index = filled_;
  for (const RxFrame& frame : frames) {
    const Slot& slot = slots[index & mask];
    const uint32_t bytes = frame.length_bytes;
    const Slot& later = slots[(index + kFetchedAhead) & mask];
    __builtin_prefetch(reinterpret_cast<const void*>(later.first.addr), 1);
    std::byte* const to = region.Resolve(slot.first);
    if (bytes > slot.first.length || bytes > max_bytes || to == nullptr)
        [[unlikely]] {
      break;
    }
    completions->wr_id = slot.wr_id;
    completions->status = IBV_WC_SUCCESS;
    completions->opcode = IBV_WC_RECV;
    completions->vendor_err = 0;
    completions->byte_len = bytes;
    completions->wc_flags = frame.flags & IBV_WC_IP_CSUM_OK;
    ++completions;
    ++index;
    CopyFrame(to, frame.data, bytes);
  }
  const size_t filled = index - filled_;
  filled_ = index;
  return filled;
}

// A frame that needs more than one copy, or fails.
void ReceiveQueue::FillRare(uint32_t index, const RxFrame& frame,
                            Filled& filled) noexcept {
  std::span<const std::byte> rest(frame.data, frame.length_bytes);
  Place place;
  constexpr size_t kTagOffset = 2 * sizeof(net::MacAddress);
  if (strips_cvlan_ && rest.size() >= kTagOffset + sizeof(net::VlanTag)) {
    const auto tag = net::LoadHeader<net::VlanTag>(rest, kTagOffset);
    if (tag.tpid.host() == net::kEtherTypeVlan) {
      filled.vlan_tci = tag.tci.host();
      filled.byte_len -= static_cast<uint32_t>(sizeof tag);
      filled.status = Scatter(index, rest.first(kTagOffset), place);
      rest = rest.subspan(kTagOffset + sizeof tag);
    }
  }
  if (filled.status == IBV_WC_SUCCESS) {
    filled.status = Scatter(index, rest, place);
  }
}

// Copies bytes to the buffers at `index`, from `place` on, which moves behind
// them.
ibv_wc_status ReceiveQueue::Scatter(uint32_t index,
                                    std::span<const std::byte> from,
                                    Place& place) noexcept {
  const uint32_t at = index & mask_;
  const Slot& slot = slots_[at];
  const ibv_sge* more = more_sges_.data() + at * (max_sge_ - size_t{1});
  while (!from.empty() && place.sge < slot.num_sge) {
    const ibv_sge& sge = place.sge == 0 ? slot.first : more[place.sge - 1];
    const size_t part = std::min(from.size(), sge.length - place.offset);
    // The address and key of an empty one may be anything.
    if (part > 0) {
      std::byte* const to = regions_.Resolve(sge);
      if (to == nullptr) return IBV_WC_LOC_PROT_ERR;
      CopyFrame(to + place.offset, from.data(), part);
      from = from.subspan(part);
      place.offset += part;
    }
    if (place.offset == sge.length) place = {.sge = place.sge + 1, .offset = 0};
  }
  return from.empty() ? IBV_WC_SUCCESS : IBV_WC_LOC_LEN_ERR;
}

void ReceiveQueue::StripCvlan(bool strips) noexcept {
  const std::lock_guard hold(lock_);
  strips_cvlan_ = strips;
}

void ReceiveQueue::Fail() noexcept {
  const std::lock_guard hold_cq(cq_.lock());
  const std::lock_guard hold(lock_);
  FailLocked();
}

// A reset may have been faster.
void ReceiveQueue::FlushIfFailed() noexcept {
  const std::lock_guard hold_cq(cq_.lock());
  const std::lock_guard hold(lock_);
  if (state_ == WorkState::kFlushes) FailLocked();
}

void ReceiveQueue::FailLocked() noexcept {
  state_ = WorkState::kFlushes;
  while (filled_ != posted_) {
    const uint64_t wr_id = slots_[filled_++ & mask_].wr_id;
    cq_.Push({.wr_id = wr_id,
              .queue = this,
              .status = IBV_WC_WR_FLUSH_ERR,
              .opcode = IBV_WC_RECV,
              .byte_len = 0,
              .done = filled_});
  }
}

void ReceiveQueue::Enter(WorkState state) noexcept {
  const std::lock_guard hold_cq(cq_.lock());
  const std::lock_guard hold(lock_);
  if (state == WorkState::kFlushes) {
    FailLocked();
    return;
  }
  if (state == WorkState::kRefuses) {
    cq_.Forget(this);
    posted_ = filled_ = 0;
    Retire(0);
  } else if (state_ == WorkState::kFlushes) {
    // A receive has failed meanwhile; only a reset ends that.
    return;
  }
  state_ = state;
}

bool ReceiveQueue::failed() noexcept {
  const std::lock_guard hold(lock_);
  return state_ == WorkState::kFlushes;
}

}  // namespace weir::hca
