#include "test/conformance/options.h"

#include <algorithm>
#include <string_view>

namespace weir::conformance {
namespace {

std::string BackendNames() {
  std::string text;
  for (const std::string& name : SoftLabNames()) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

// The value behind `name`, if `argument` is of the form name=value.
bool TakeValue(std::string_view argument, std::string_view name,
               std::string& value) {
  if (!argument.starts_with(name)) return false;
  value = argument.substr(name.size());
  return true;
}

bool TakeBackend(std::string_view argument, Options& options,
                 std::string& error) {
  std::string name;
  if (!TakeValue(argument, "--backend=", name)) return false;
  const auto known = SoftLabNames();
  if (std::ranges::count(known, name) == 0) {
    error =
        "--backend=" + name + ": no such backend; there are " + BackendNames();
  }
  options.backends.push_back(name);
  return true;
}

}  // namespace

bool ParseOptions(int argc, char** argv, Options& options, std::string& error) {
  for (int i = 1; i < argc && error.empty(); ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--list") {
      options.list = true;
    } else if (argument == "--skip_without_rights") {
      options.skip_without_rights = true;
    } else if (argument == "--help") {
      options.help = true;
    } else if (argument == "--loopback") {
      options.nic.loopback = true;
    } else if (!TakeValue(argument, "--device=", options.nic.device) &&
               !TakeValue(argument, "--peer=", options.nic.peer) &&
               !TakeValue(argument, "--check=", options.check) &&
               !TakeBackend(argument, options, error)) {
      error = std::string(argument) + ": unknown; --help tells what there is";
    }
  }
  const NicOptions& nic = options.nic;
  if (error.empty() && nic.device.empty() &&
      (nic.loopback || !nic.peer.empty())) {
    error = "--peer and --loopback want a --device=NAME";
  }
  if (error.empty() && nic.loopback && !nic.peer.empty()) {
    error = "--peer or --loopback, not both";
  }
  return error.empty();
}

std::string Usage() {
  return "Checks what verbs devices do with raw packets.\n"
         "\n"
         "  --backend=NAME   a medium of the software HCA: " +
         BackendNames() +
         ";\n"
         "                   may be given again; default: all\n"
         "  --device=NAME    a device of ibv_devices instead, and how frames\n"
         "    --peer=NAME      get to it: another device on its cable,\n"
         "    --loopback       or the device itself, from another context\n"
         "  --check=GLOB     only these checks, such as flows.* (* and ?)\n"
         "  --skip_without_rights  is content with what the user may\n"
         "  --list           the names of the checks\n";
}

}  // namespace weir::conformance
