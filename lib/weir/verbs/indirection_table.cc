#include "weir/verbs/indirection_table.h"

#include <bit>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"
#include "weir/verbs/raw_packet_error.h"

namespace weir::verbs {

absl::StatusOr<IndirectionTable> IndirectionTable::Create(
    const Device& device, std::span<const WorkQueue> queues, size_t entries) {
  std::vector<ibv_wq*> table(entries);
  for (size_t i = 0; i < entries; ++i) {
    table[i] = queues[i % queues.size()].get();
  }
  ibv_rwq_ind_table_init_attr attributes{};
  attributes.log_ind_tbl_size =
      static_cast<uint32_t>(std::bit_width(entries) - 1);
  attributes.ind_tbl = table.data();
  ibv_rwq_ind_table* created =
      ibv_create_rwq_ind_table(device.context(), &attributes);
  if (created != nullptr) {
    return IndirectionTable(device.name(), created, entries);
  }
  const int error = errno;
  const std::string object =
      absl::StrCat(device.name(), ": cannot create an indirection table of ",
                   entries, " entries over ", queues.size(), " work queues");
  return RssError(error,
                  {.object = object, .call = "ibv_create_rwq_ind_table"});
}

}  // namespace weir::verbs
