#include "weir/hca/send_batch.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace weir::hca {

SendBatch::SendBatch(const Options& options)
    : options_(options),
      requests_(options.depth),
      sges_(requests_.size() * options.max_sge),
      inline_data_(requests_.size() * options.max_inline_bytes),
      tso_headers_(requests_.size() * options.max_tso_header_bytes) {}

void SendBatch::Start() noexcept {
  lock_.lock();
  error_ = 0;
  count_ = 0;
}

ibv_send_wr* SendBatch::Begin(const ibv_qp_ex& qp,
                              ibv_wr_opcode opcode) noexcept {
  if (error_ != 0) return nullptr;
  if (count_ == requests_.size()) {
    Refuse(ENOMEM);
    return nullptr;
  }
  ibv_send_wr& wr = requests_[count_++];
  wr.wr_id = qp.wr_id;
  wr.sg_list = sges_.data() + place() * options_.max_sge;
  wr.num_sge = 0;
  wr.opcode = opcode;
  // Data is inline if SetInline says so, not by a flag of the program.
  wr.send_flags = qp.wr_flags & ~unsigned{IBV_SEND_INLINE};
  return &wr;
}

ibv_send_wr* SendBatch::Last() noexcept {
  if (error_ != 0) return nullptr;
  if (count_ > 0) return &requests_[place()];
  Refuse(EINVAL);
  return nullptr;
}

void SendBatch::Send(const ibv_qp_ex& qp) noexcept {
  if ((options_.operations & IBV_QP_EX_WITH_SEND) == 0) {
    Refuse(EINVAL);
    return;
  }
  Begin(qp, IBV_WR_SEND);
}

void SendBatch::SendTso(const ibv_qp_ex& qp, std::span<const std::byte> header,
                        uint16_t mss) noexcept {
  if ((options_.operations & IBV_QP_EX_WITH_TSO) == 0 ||
      header.size() > options_.max_tso_header_bytes) {
    Refuse(EINVAL);
    return;
  }
  ibv_send_wr* const wr = Begin(qp, IBV_WR_TSO);
  if (wr == nullptr) return;
  std::byte* const to =
      tso_headers_.data() + place() * options_.max_tso_header_bytes;
  std::copy(header.begin(), header.end(), to);
  wr->tso.hdr = to;
  wr->tso.hdr_sz = static_cast<uint16_t>(header.size());
  wr->tso.mss = mss;
}

void SendBatch::SetSges(std::span<const ibv_sge> sges) noexcept {
  ibv_send_wr* const wr = Last();
  if (wr == nullptr) return;
  if (sges.size() > options_.max_sge) {
    Refuse(EINVAL);
    return;
  }
  std::copy(sges.begin(), sges.end(), wr->sg_list);
  wr->num_sge = static_cast<int>(sges.size());
  wr->send_flags &= ~unsigned{IBV_SEND_INLINE};
}

void SendBatch::SetInline(std::span<const ibv_data_buf> buffers) noexcept {
  ibv_send_wr* const wr = Last();
  if (wr == nullptr) return;
  std::byte* const start =
      inline_data_.data() + place() * options_.max_inline_bytes;
  size_t bytes = 0;
  for (const ibv_data_buf& buffer : buffers) {
    if (buffer.length > options_.max_inline_bytes - bytes ||
        options_.max_sge == 0) {
      Refuse(EINVAL);
      return;
    }
    if (buffer.length > 0) {
      std::memcpy(start + bytes, buffer.addr, buffer.length);
    }
    bytes += buffer.length;
  }
  wr->sg_list[0] = {.addr = std::bit_cast<uintptr_t>(start),
                    .length = static_cast<uint32_t>(bytes),
                    .lkey = 0};
  wr->num_sge = 1;
  wr->send_flags |= IBV_SEND_INLINE;
}

ibv_send_wr* SendBatch::Link() noexcept {
  if (count_ == 0) return nullptr;
  for (size_t i = 0; i + 1 < count_; ++i) requests_[i].next = &requests_[i + 1];
  requests_[place()].next = nullptr;
  return requests_.data();
}

}  // namespace weir::hca
