// The processors that this process may use and where they sit, so that a
// pipeline can be placed next to its device.

#ifndef WEIR_TOPO_TOPOLOGY_H_
#define WEIR_TOPO_TOPOLOGY_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weir {

// A processor of the operating system (a hardware thread).
struct LcoreInfo {
  uint32_t id = 0;
  // Processors with the same core number share a physical core.
  uint32_t core = 0;
  // -1 on a machine that does not tell.
  int numa_node = -1;
  // Processors with the same number share a last-level cache; -1 as above.
  int l3 = -1;
  // Kept free of other work by the kernel (isolcpus).
  bool is_isolated = false;
};

// What the machine looked like when it was read. Any thread.
class Topology {
 public:
  // Reads the machine, the cgroup and the affinity of the calling thread:
  // before that thread pins itself. Internal if the system does not answer.
  // Control thread, before Launch.
  static absl::StatusOr<Topology> Read();

  // The lcores that this process may use, by id.
  std::span<const LcoreInfo> lcores() const noexcept { return lcores_; }

  // NUMA nodes that have memory, by id; at least one.
  std::span<const uint32_t> numa_nodes() const noexcept { return nodes_; }

  // The lcore `id`; nothing if it is not one of lcores().
  std::optional<LcoreInfo> Find(uint32_t id) const noexcept;

  // The ids in a list such as "0,2-3", in the order written. InvalidArgument
  // for what is no such list, an lcore that does not exist, that this process
  // may not use, or that is named twice; the message names it and lists those
  // that can be used.
  absl::StatusOr<std::vector<uint32_t>> ParseLcores(
      absl::string_view text) const;

 private:
  Topology() = default;

  std::vector<LcoreInfo> lcores_;
  // Every lcore there is, also those that are not for us.
  std::vector<uint32_t> existing_;
  std::vector<uint32_t> nodes_;
};

}  // namespace weir

#endif  // WEIR_TOPO_TOPOLOGY_H_
