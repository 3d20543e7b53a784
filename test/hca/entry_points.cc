#include "test/hca/entry_points.h"

#include <fstream>
#include <iterator>
#include <regex>

namespace weir::hca {

std::set<std::string> EntryPoints() {
  std::ifstream file("lib/weir/hca/abi/versions.lds");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // "ibv_alloc_pd;", and not what is in comments or "weir_hca_*;".
  const std::regex name(R"(\b(\w*ibv_\w+);)");
  std::set<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end;
       ++at) {
    names.insert((*at)[1]);
  }
  return names;
}

}  // namespace weir::hca
