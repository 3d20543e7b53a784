// What the command lines of all programs have in common.

#ifndef WEIR_APP_COMMAND_LINE_H_
#define WEIR_APP_COMMAND_LINE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace weir {

// The last part of the path a program was called by.
std::string ProgramName(int argc, char** argv);

// Whether an argument asks for help; those behind `--` do not.
bool WantsHelp(int argc, char** argv);

// "Flags:" and a line for each flag of the program, with its default; then
// "Examples:" and the lines of `examples`, if there are any, each behind
// `name`.
std::string FormatFlags(absl::string_view name, absl::string_view examples);

// Fills the descriptors of standard input, output and error if the caller
// closed them: the next file opened, such as a capture to write, would get
// what is printed. First thing in main.
void FillStandardDescriptors();

}  // namespace weir

#endif  // WEIR_APP_COMMAND_LINE_H_
