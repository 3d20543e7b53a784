// Words of a command line as a request to a process, and its answer as text.

#ifndef APPS_CONTROL_REQUEST_H_
#define APPS_CONTROL_REQUEST_H_

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weir::control {

using Json = nlohmann::ordered_json;

// The request that `words` stand for: the words of a command and its arguments,
// in the order of Commands(). `options` are added to it; files become absolute,
// for the process has a folder of its own, `folder` being that of the caller.
// InvalidArgument with what there is instead.
absl::StatusOr<Json> RequestOf(std::span<const std::string> words,
                               const Json& options, absl::string_view folder);

// A line for each command: how it is called, and what it does.
std::string Commands();

// What an answer without errors says: a line a member, a line an element of
// those that are lists.
std::string FormatAnswer(const Json& answer);

}  // namespace weir::control

#endif  // APPS_CONTROL_REQUEST_H_
