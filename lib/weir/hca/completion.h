// A completed work request on its way to a poll.

#ifndef WEIR_HCA_COMPLETION_H_
#define WEIR_HCA_COMPLETION_H_

#include <infiniband/verbs.h>

#include <cstdint>

namespace weir::hca {

class WorkQueue;

struct Completion {
  uint64_t wr_id;
  WorkQueue* queue;
  ibv_wc_status status;
  ibv_wc_opcode opcode;
  uint32_t byte_len;
  // How many of the work requests ever posted to that queue are done with this
  // one.
  uint32_t done;
  // Of ibv_wc_flags.
  uint32_t wc_flags = 0;
  // The rest is for an extended poll; zero where there is nothing to say.
  uint32_t flow_tag = 0;
  uint16_t vlan_tci = 0;
  uint64_t hca_ticks = 0;
  uint64_t wall_ns = 0;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_COMPLETION_H_
