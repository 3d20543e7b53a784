#include "test/conformance/labs/network.h"

#include <array>
#include <cstdio>

#include "test/hca/backend/kernel_host.h"

namespace weir::conformance {

const std::string& Network::Enter() {
  if (!error_.has_value()) error_ = hca::EnterNewNetwork();
  return *error_;
}

std::string RunCommand(const std::string& command) {
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return command + ": cannot be run";
  std::string output;
  std::array<char, 256> line;
  while (fgets(line.data(), line.size(), pipe) != nullptr) {
    output += line.data();
  }
  return pclose(pipe) == 0 ? std::string() : command + ": " + output;
}

}  // namespace weir::conformance
