// The main() of every app: flags, usage, the one line of an error, exit code.

#ifndef WEIR_APP_APP_MAIN_H_
#define WEIR_APP_APP_MAIN_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "weir/app/app.h"

namespace weir {

// A flag that not all commands of an app have.
struct CommandFlag {
  absl::string_view name;
  std::vector<absl::string_view> commands;
};

// What an app says of itself.
struct AppInfo {
  // One sentence, first thing in --help.
  absl::string_view about;
  // Command lines without the program's name, one a line.
  absl::string_view examples = {};
  // What the first argument has to be one of, if there are any: App::command.
  std::vector<std::string> commands = {};
  // An error with other commands.
  std::vector<CommandFlag> command_flags = {};
  // The ports of --demo, for a command line that names none; the app then ends
  // by itself after five seconds unless --duration says otherwise.
  std::vector<std::string> demo_ports = {};
};

// Parses the command line, runs `run` and returns the exit code: 0, or 1 after
// one line on stderr, "PROGRAM: what is wrong", or after warnings: what came or
// went was not all. Once, from main.
int AppMain(int argc, char** argv, const AppInfo& info,
            absl::Status (*run)(App&));

}  // namespace weir

#endif  // WEIR_APP_APP_MAIN_H_
