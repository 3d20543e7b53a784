#include "weir/app/command_line.h"

#include <fcntl.h>
#include <unistd.h>

#include <map>

#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace weir {
namespace {

// A flag of weir or of the app, not of Abseil's flags library itself.
bool IsOwnFlag(absl::string_view file) {
  return !absl::StrContains(file, "flags/");
}

}  // namespace

std::string ProgramName(int argc, char** argv) {
  const absl::string_view path = argc > 0 ? argv[0] : "weir";
  return std::string(path.substr(path.rfind('/') + 1));
}

bool WantsHelp(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const absl::string_view argument = argv[i];
    if (argument == "--") return false;
    if (argument == "--help" || argument == "-help" || argument == "-h") {
      return true;
    }
  }
  return false;
}

std::string FormatFlags(absl::string_view name, absl::string_view examples) {
  std::string text = "Flags:\n";
  std::map<std::string, std::string> flags;
  for (const auto& [flag, value] : absl::GetAllFlags()) {
    if (!IsOwnFlag(value->Filename())) continue;
    const std::string standard = value->DefaultValue();
    flags[std::string(flag)] = absl::StrCat(
        value->Help(),
        standard.empty() ? "" : absl::StrCat(" (default ", standard, ")"));
  }
  for (const auto& [flag, help] : flags) {
    absl::StrAppend(&text, "  --", flag, ": ", help, "\n");
  }
  if (!examples.empty()) absl::StrAppend(&text, "\nExamples:\n");
  for (const absl::string_view line :
       absl::StrSplit(examples, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&text, "  ", name, " ", line, "\n");
  }
  return text;
}

void FillStandardDescriptors() {
  int descriptor = 0;
  do {
    descriptor = open("/dev/null", O_RDWR | O_CLOEXEC);
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor > STDERR_FILENO) close(descriptor);
}

}  // namespace weir
