#include "weir/base/cpu_relax.h"

#include <type_traits>

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(CpuRelaxTest, ReturnsAndNeverThrows) {
  static_assert(noexcept(CpuRelax()));
  for (int i = 0; i < 100; ++i) CpuRelax();
}

}  // namespace
}  // namespace weir
