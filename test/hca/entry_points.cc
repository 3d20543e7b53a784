#include "test/hca/entry_points.h"

#include <algorithm>
#include <cctype>
#include <fstream>

namespace weir::hca {
namespace {

// "ibv_alloc_pd" of "ibv_alloc_pd;"; empty for words of comments, for nodes and
// for patterns such as "weir_hca_*;".
std::string NameIn(std::string word) {
  if (word.empty() || word.back() != ';') return {};
  word.pop_back();
  const bool is_name = std::all_of(word.begin(), word.end(), [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  });
  return is_name && word.find("ibv_") != std::string::npos ? word
                                                           : std::string();
}

}  // namespace

std::set<std::string> EntryPoints() {
  std::ifstream file("lib/weir/hca/abi/versions.lds");
  std::set<std::string> names;
  for (std::string word; file >> word;) {
    const std::string name = NameIn(word);
    if (!name.empty()) names.insert(name);
  }
  return names;
}

}  // namespace weir::hca
