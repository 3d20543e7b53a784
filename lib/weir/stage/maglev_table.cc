#include "weir/stage/maglev_table.h"

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace weir {
namespace {

constexpr uint16_t kNobody = UINT16_MAX;

// The order in which an outlet wants entries: all of them, from `at` on by
// steps of `skip`.
struct Preference {
  uint32_t number;
  uint32_t at;
  uint32_t skip;
};

// FNV-1a. The same in every process, which hashes of libraries are not.
uint64_t HashOf(absl::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  }
  return hash;
}

// So that names with a common end, or beginning, have nothing in common (the
// finalizer of SplitMix64; Steele, Lea and Flood 2014).
uint64_t Mix(uint64_t hash) {
  hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ hash >> 27) * 0x94d049bb133111eb;
  return hash ^ hash >> 31;
}

std::vector<Preference> PreferencesOf(const OutletNames& outlets) {
  std::vector<Preference> all;
  for (size_t i = 0; i < outlets.names.size(); ++i) {
    if (!outlets.is_present[i]) continue;
    const uint64_t hash = Mix(HashOf(outlets.names[i]));
    all.push_back({.number = static_cast<uint32_t>(i),
                   .at = static_cast<uint32_t>(hash % MaglevTable::kEntries),
                   .skip = static_cast<uint32_t>(
                       Mix(hash) % (MaglevTable::kEntries - 1) + 1)});
  }
  return all;
}

}  // namespace

MaglevTable::MaglevTable(const OutletNames& outlets)
    : owners_(kEntries, kNobody) {
  std::vector<Preference> preferences = PreferencesOf(outlets);
  // Each takes the first free entry of its order, in turn, until all are taken.
  for (uint32_t taken = 0;;) {
    for (Preference& next : preferences) {
      while (owners_[next.at] != kNobody) {
        next.at = (next.at + next.skip) % kEntries;
      }
      owners_[next.at] = static_cast<uint16_t>(next.number);
      if (++taken == kEntries) return;
    }
  }
}

}  // namespace weir
