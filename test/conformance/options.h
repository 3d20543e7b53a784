// The command line of the suite.

#ifndef WEIR_TEST_CONFORMANCE_OPTIONS_H_
#define WEIR_TEST_CONFORMANCE_OPTIONS_H_

#include <string>
#include <vector>

#include "test/conformance/labs/labs.h"

namespace weir::conformance {

struct Options {
  // Labs of the software HCA; with none and no device, all there are.
  std::vector<std::string> backends;
  NicOptions nic;
  // Of check names, with * and ?.
  std::string check = "*";
  // What the user has no rights for is no error.
  bool skip_without_rights = false;
  bool list = false;
  bool help = false;
};

// False after one line in `error`.
bool ParseOptions(int argc, char** argv, Options& options, std::string& error);

std::string Usage();

}  // namespace weir::conformance

#endif  // WEIR_TEST_CONFORMANCE_OPTIONS_H_
