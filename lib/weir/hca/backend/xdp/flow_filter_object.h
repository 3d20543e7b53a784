// The compiled XDP program (flow_filter.bpf.c), carried by the library: nothing
// has to be found in a file at run time.

#ifndef WEIR_HCA_BACKEND_XDP_FLOW_FILTER_OBJECT_H_
#define WEIR_HCA_BACKEND_XDP_FLOW_FILTER_OBJECT_H_

#include <cstddef>
#include <span>

namespace weir::hca {

// An ELF object of BPF code, to be loaded from memory. Any thread.
std::span<const std::byte> FlowFilterObject() noexcept;

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_XDP_FLOW_FILTER_OBJECT_H_
