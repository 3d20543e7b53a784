#include "weir/topo/topology.h"

#include <hwloc.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace weir {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const noexcept {
    hwloc_topology_destroy(topology);
  }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, DestroyTopology>;

struct FreeBitmap {
  void operator()(hwloc_bitmap_t bitmap) const noexcept {
    hwloc_bitmap_free(bitmap);
  }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

// The whole machine, also what a cgroup forbids: an error can then tell the
// two apart.
absl::StatusOr<HwlocTopology> Load() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    return absl::InternalError("hwloc_topology_init failed");
  }
  HwlocTopology topology(raw);
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(raw) != 0) {
    return absl::InternalError(
        "hwloc_topology_load failed; is /sys mounted and readable?");
  }
  return topology;
}

// Allowed by the cgroup and by the affinity of this thread.
Bitmap Usable(hwloc_topology_t topology) {
  Bitmap usable(hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology)));
  const Bitmap bound(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology, bound.get(), HWLOC_CPUBIND_THREAD) == 0) {
    hwloc_bitmap_and(usable.get(), usable.get(), bound.get());
  }
  return usable;
}

LcoreInfo Describe(hwloc_topology_t topology, hwloc_obj_t pu) {
  LcoreInfo info;
  info.id = pu->os_index;
  const hwloc_obj_t core =
      hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu);
  // Of one thread a core if the system does not tell.
  info.core = core == nullptr ? pu->logical_index : core->logical_index;
  info.numa_node = hwloc_bitmap_first(pu->nodeset);
  const hwloc_obj_t l3 =
      hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_L3CACHE, pu);
  if (l3 != nullptr) info.l3 = static_cast<int>(l3->logical_index);
  return info;
}

// What the kernel was told to keep its hands off, as a list such as "2-5".
Bitmap Isolated(hwloc_topology_t topology) {
  Bitmap isolated(hwloc_bitmap_alloc());
  // Of another machine, described by hwloc's environment, nothing is known.
  if (hwloc_topology_is_thissystem(topology) == 0) return isolated;
  std::ifstream file("/sys/devices/system/cpu/isolated");
  std::string list;
  if (std::getline(file, list) && !list.empty()) {
    hwloc_bitmap_list_sscanf(isolated.get(), list.c_str());
  }
  return isolated;
}

std::string Join(std::span<const LcoreInfo> lcores) {
  return absl::StrJoin(lcores, ",", [](std::string* out, const LcoreInfo& l) {
    absl::StrAppend(out, l.id);
  });
}

// "3" or "2-5" as first and last.
std::optional<std::pair<uint32_t, uint32_t>> ParseRange(
    absl::string_view text) {
  const std::vector<absl::string_view> ends = absl::StrSplit(text, '-');
  uint32_t first = 0;
  uint32_t last = 0;
  if (ends.size() > 2 || !absl::SimpleAtoi(ends.front(), &first) ||
      !absl::SimpleAtoi(ends.back(), &last) || first > last) {
    return std::nullopt;
  }
  return std::pair(first, last);
}

}  // namespace

absl::StatusOr<Topology> Topology::Read() {
  const absl::StatusOr<HwlocTopology> loaded = Load();
  if (!loaded.ok()) return loaded.status();
  hwloc_topology* const hwloc = loaded->get();
  const Bitmap usable = Usable(hwloc);
  const Bitmap isolated = Isolated(hwloc);
  Topology topology;
  hwloc_obj_t object = nullptr;
  while ((object = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_PU, object)) !=
         nullptr) {
    topology.existing_.push_back(object->os_index);
    if (hwloc_bitmap_isset(usable.get(), object->os_index) != 0) {
      LcoreInfo& lcore = topology.lcores_.emplace_back(Describe(hwloc, object));
      lcore.is_isolated =
          hwloc_bitmap_isset(isolated.get(), object->os_index) != 0;
    }
  }
  while ((object = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE,
                                              object)) != nullptr) {
    topology.nodes_.push_back(object->os_index);
  }
  std::ranges::sort(topology.lcores_, {}, &LcoreInfo::id);
  std::ranges::sort(topology.existing_);
  std::ranges::sort(topology.nodes_);
  return topology;
}

std::optional<LcoreInfo> Topology::Find(uint32_t id) const noexcept {
  const auto found = std::ranges::lower_bound(lcores_, id, {}, &LcoreInfo::id);
  if (found == lcores_.end() || found->id != id) return std::nullopt;
  return *found;
}

absl::StatusOr<std::vector<uint32_t>> Topology::ParseLcores(
    absl::string_view text) const {
  const auto error = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(
        "lcores \"", text, "\": ", what, "; usable here: ", Join(lcores_)));
  };
  std::vector<uint32_t> ids;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const auto range = ParseRange(part);
    if (!range) {
      return error(
          absl::StrCat("\"", part, "\" is no number and no range such as 2-3"));
    }
    // Stops at the first that does not exist, however long the range is.
    for (uint64_t i = range->first; i <= range->second; ++i) {
      const auto id = static_cast<uint32_t>(i);
      if (!std::ranges::binary_search(existing_, id)) {
        return error(absl::StrCat("there is no lcore ", id));
      }
      if (!Find(id)) {
        return error(absl::StrCat("lcore ", id,
                                  " is not allowed to this process (affinity "
                                  "or cgroup)"));
      }
      if (std::ranges::find(ids, id) != ids.end()) {
        return error(absl::StrCat("lcore ", id, " is named twice"));
      }
      ids.push_back(id);
    }
  }
  return ids;
}

}  // namespace weir
