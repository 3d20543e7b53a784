// The list of all entry points, for tests that have to call every one.

#ifndef WEIR_TEST_HCA_ENTRY_POINTS_H_
#define WEIR_TEST_HCA_ENTRY_POINTS_H_

#include <set>
#include <string>

namespace weir::hca {

// The names of the functions of libibverbs that libweir_hca.so exports, as its
// version script has them.
std::set<std::string> EntryPoints();

}  // namespace weir::hca

#endif  // WEIR_TEST_HCA_ENTRY_POINTS_H_
