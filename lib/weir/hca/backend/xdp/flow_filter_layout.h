// What the XDP program (flow_filter.bpf.c) and the process that loads it share:
// the layout of its maps. Plain C, for both compilers.

#ifndef WEIR_HCA_BACKEND_XDP_FLOW_FILTER_LAYOUT_H_
#define WEIR_HCA_BACKEND_XDP_FLOW_FILTER_LAYOUT_H_

#include <linux/types.h>

enum {
  // Words of FlowFields (hca/flow_match.h) that the program reads from frames.
  kFilterWords = 10,
  // Different masks that it tries, one lookup each.
  kFilterMasks = 32,
  // Different rules that it holds.
  kFilterRules = 1 << 16,
  // VLAN tags and IPv6 extension headers that it looks behind.
  kFilterVlanTags = 16,
  kFilterExtensions = 8,
};

// The fields of a frame as words, or a mask over them.
struct FlowFilterWords {
  __u64 words[kFilterWords];
};

// The one entry of the map "table".
struct FlowFilterTable {
  // Not 0: every frame is taken without a look at it.
  __u32 takes_all;
  // How many of `masks` are tried.
  __u32 mask_count;
  struct FlowFilterWords masks[kFilterMasks];
};

// A key of the map "rules": which mask, and what is left of the fields under
// it.
struct FlowFilterKey {
  __u64 mask_index;
  struct FlowFilterWords value;
};

#endif  // WEIR_HCA_BACKEND_XDP_FLOW_FILTER_LAYOUT_H_
