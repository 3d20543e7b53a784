#include "weir/memory/memory_info.h"

#include <cstdint>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace weir::internal {
namespace {

constexpr size_t kKiB = 1024;

// The number of "<prefix> <number> kB" in bytes; nothing if `line` is not that.
std::optional<size_t> ValueOf(absl::string_view line,
                              absl::string_view prefix) {
  if (!absl::StartsWith(line, prefix)) return std::nullopt;
  line.remove_prefix(prefix.size());
  line = line.substr(0, line.find("kB"));
  uint64_t kib = 0;
  if (!absl::SimpleAtoi(line, &kib)) return std::nullopt;
  return kib * kKiB;
}

// The sum of the lines of `file` that start with one of `prefixes`.
template <size_t kPrefixes>
std::optional<size_t> SumOf(const std::string& file,
                            const std::string (&prefixes)[kPrefixes]) {
  std::ifstream lines(file);
  std::optional<size_t> sum;
  for (std::string line; std::getline(lines, line);) {
    for (const std::string& prefix : prefixes) {
      const std::optional<size_t> value = ValueOf(line, prefix);
      if (value) sum = sum.value_or(0) + *value;
    }
  }
  return sum;
}

}  // namespace

std::optional<size_t> AvailableBytes(int numa_node) {
  if (numa_node < 0) {
    return SumOf("/proc/meminfo", {std::string("MemAvailable:")});
  }
  const std::string node = absl::StrCat("Node ", numa_node, " ");
  return SumOf(
      absl::StrCat("/sys/devices/system/node/node", numa_node, "/meminfo"),
      {node + "MemFree:", node + "Active(file):", node + "Inactive(file):"});
}

size_t HugeBackedBytes(std::span<const std::byte> range) {
  // proc(5): a header line "<begin>-<end> ..." a mapping, then "<name>: <value>
  // kB" lines.
  const std::string header = absl::StrCat(
      absl::Hex(reinterpret_cast<uintptr_t>(range.data())), "-",
      absl::Hex(reinterpret_cast<uintptr_t>(range.data() + range.size())), " ");
  std::ifstream lines("/proc/self/smaps");
  bool found = false;
  for (std::string line; std::getline(lines, line);) {
    if (!found) {
      found = absl::StartsWith(line, header);
    } else if (const auto value = ValueOf(line, "AnonHugePages:")) {
      return *value;
    }
  }
  return 0;
}

std::string NodesWithMemory() {
  std::ifstream file("/sys/devices/system/node/has_memory");
  std::string nodes;
  return std::getline(file, nodes) && !nodes.empty() ? nodes : "0";
}

}  // namespace weir::internal
