#include "weir/port/queue_failures.h"

#include "absl/strings/str_cat.h"

namespace weir {

std::string NameOf(QueueFailure failure) {
  switch (failure) {
    case QueueFailure::kInError:
      return "in_error";
    case QueueFailure::kRefused:
      return "post_refused";
    case QueueFailure::kBrokenCq:
      return "cq_overrun";
    case QueueFailure::kStalled:
      return "stalled";
    default:
      break;
  }
  switch (static_cast<int>(failure)) {
    case IBV_WC_LOC_LEN_ERR:
      return "loc_len";
    case IBV_WC_LOC_QP_OP_ERR:
      return "loc_qp_op";
    case IBV_WC_LOC_PROT_ERR:
      return "loc_prot";
    case IBV_WC_LOC_ACCESS_ERR:
      return "loc_access";
    case IBV_WC_FATAL_ERR:
      return "fatal";
    case IBV_WC_GENERAL_ERR:
      return "general";
    default:
      return absl::StrCat("status_", static_cast<int>(failure));
  }
}

}  // namespace weir
