// Which work queue the low bits of an RSS hash stand for.

#ifndef WEIR_VERBS_INDIRECTION_TABLE_H_
#define WEIR_VERBS_INDIRECTION_TABLE_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "weir/verbs/device.h"
#include "weir/verbs/work_queue.h"

namespace weir::verbs {

// Owns the ibv_rwq_ind_table. Movable. Control thread, before Launch.
class IndirectionTable {
 public:
  // `entries` entries, a power of two: entry i is queue i modulo the number of
  // `queues`, of which there are some; all of them must outlive it.
  // Unimplemented for a device without such tables, otherwise the errno of
  // ibv_create_rwq_ind_table.
  static absl::StatusOr<IndirectionTable> Create(
      const Device& device, std::span<const WorkQueue> queues, size_t entries);

  ibv_rwq_ind_table* get() const noexcept { return table_.get(); }
  size_t entries() const noexcept { return entries_; }
  // For messages.
  const std::string& device_name() const noexcept { return device_name_; }

 private:
  struct Destroy {
    void operator()(ibv_rwq_ind_table* table) const noexcept {
      ibv_destroy_rwq_ind_table(table);
    }
  };

  IndirectionTable(std::string device_name, ibv_rwq_ind_table* table,
                   size_t entries)
      : device_name_(std::move(device_name)),
        table_(table),
        entries_(entries) {}

  std::string device_name_;
  std::unique_ptr<ibv_rwq_ind_table, Destroy> table_;
  size_t entries_;
};

}  // namespace weir::verbs

#endif  // WEIR_VERBS_INDIRECTION_TABLE_H_
