// What a port counts, beside what its medium does.

#ifndef WEIR_HCA_PORT_COUNTERS_H_
#define WEIR_HCA_PORT_COUNTERS_H_

#include "weir/base/counter.h"

namespace weir::hca {

// Each frame that the medium gave, once: `frames` is the sum of the others but
// for `bytes`.
struct PortReceiveCounters {
  Counter frames;
  Counter bytes;
  Counter delivered;
  Counter unmatched;
  Counter flow_dropped;
  Counter out_of_buffer;
  Counter oversize;
  Counter not_ready;
  Counter errors;
  // Lost with their completions, which an overrun queue had no room for.
  Counter cq_overrun;
  Counter link_down;
};

struct PortSendCounters {
  Counter frames;
  Counter bytes;
  Counter dropped;
  // Of those: lost because the link was forced down.
  Counter link_down;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_PORT_COUNTERS_H_
