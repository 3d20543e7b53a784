// What one half of a queue pair does with work requests. The halves fail
// independently of each other, as on hardware, where they are two objects.

#ifndef WEIR_HCA_WORK_STATE_H_
#define WEIR_HCA_WORK_STATE_H_

#include <cstdint>

namespace weir::hca {

enum class WorkState : uint8_t {
  kRefuses,  // RESET, for sends also INIT and RTR: EINVAL.
  kQueues,   // Receives in INIT: kept, not yet filled.
  kWorks,    // Receives in RTR and RTS, sends in RTS.
  kFlushes,  // ERR: accepted and completed with IBV_WC_WR_FLUSH_ERR.
};

}  // namespace weir::hca

#endif  // WEIR_HCA_WORK_STATE_H_
