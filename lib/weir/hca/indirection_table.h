// Indirection tables: which work queue the low bits of a hash stand for.

#ifndef WEIR_HCA_INDIRECTION_TABLE_H_
#define WEIR_HCA_INDIRECTION_TABLE_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weir/hca/public_object.h"
#include "weir/hca/receive_wq.h"

namespace weir::hca {

class IndirectionTable : public PublicObject<ibv_rwq_ind_table> {
 public:
  // The table around its public part.
  static IndirectionTable& Of(ibv_rwq_ind_table* table) noexcept {
    return *static_cast<IndirectionTable*>(table);
  }

  // `entries` is a power of two, and may have a queue several times.
  IndirectionTable(ibv_context* owner, std::span<ibv_wq* const> entries,
                   uint32_t number) {
    context = owner;
    ind_tbl_handle = ind_tbl_num = static_cast<int>(number);
    entries_.reserve(entries.size());
    for (ibv_wq* wq : entries) entries_.push_back(&ReceiveWq::Of(wq));
    for (ReceiveWq* wq : entries_) wq->Ref();
  }
  IndirectionTable(const IndirectionTable&) = delete;
  IndirectionTable& operator=(const IndirectionTable&) = delete;
  ~IndirectionTable() {
    for (ReceiveWq* wq : entries_) wq->Unref();
  }

  // Any thread.
  std::span<ReceiveWq* const> entries() const noexcept { return entries_; }
  ReceiveWq& EntryOf(uint32_t hash) const noexcept {
    return *entries_[hash & (entries_.size() - 1)];
  }

  // Counts the queue pairs that use this table. Any thread.
  void Ref() noexcept { ++users_; }
  void Unref() noexcept { --users_; }
  bool in_use() const noexcept { return users_ != 0; }

 private:
  std::vector<ReceiveWq*> entries_;
  std::atomic<uint32_t> users_ = 0;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_INDIRECTION_TABLE_H_
