// A network namespace for the netdevs of labs, entered by the first lab that
// needs one.

#ifndef WEIR_TEST_CONFORMANCE_LABS_NETWORK_H_
#define WEIR_TEST_CONFORMANCE_LABS_NETWORK_H_

#include <optional>
#include <string>

namespace weir::conformance {

class Network {
 public:
  // Puts the process, which must have one thread, into a new namespace, once.
  // Empty, or why it cannot.
  const std::string& Enter();

 private:
  std::optional<std::string> error_;
};

// Runs a shell command. Empty, or its output if it failed.
std::string RunCommand(const std::string& command);

}  // namespace weir::conformance

#endif  // WEIR_TEST_CONFORMANCE_LABS_NETWORK_H_
