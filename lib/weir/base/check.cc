#include "weir/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace weir {

void Check(bool condition, absl::string_view what) noexcept {
  if (condition) [[likely]] {
    return;
  }
  std::fprintf(stderr, "weir: check failed: %.*s\n",
               static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace weir
