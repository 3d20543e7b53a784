#include "apps/control/request.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace weir::control {
namespace {

// A command: its words, its arguments in order by the names that the protocol
// has for them, of which the first `needed` have to be there, and the flags it
// takes; unused places are empty.
struct Form {
  absl::string_view command;
  std::array<absl::string_view, 2> keys;
  size_t needed;
  std::array<absl::string_view, 8> options;
  absl::string_view usage;
  absl::string_view about;
};

constexpr Form kForms[] = {
    {"stats", {"interval"}, 0, {}, "[TIME|off]", "time between lines of rates"},
    {"capture start",
     {"place", "file"},
     2,
     {"direction", "drops", "lcore", "snaplen", "count", "bytes", "time"},
     "PLACE FILE",
     "packets of a port into a file"},
    {"capture stop", {"id"}, 0, {}, "[ID]", "ends one, or all"},
    {"capture list", {}, 0, {}, "", "those that run, and some that ended"},
    {"flow add", {"port", "rule"}, 2, {}, "PORT RULE", "frames that come"},
    {"flow remove", {"port", "id"}, 2, {}, "PORT ID", "no more of them"},
    {"flow list", {"port"}, 0, {}, "[PORT]", "those that were added"},
    {"group join",
     {"port", "group"},
     2,
     {"sources"},
     "PORT ADDRESS",
     "its frames come"},
    {"group leave", {"port", "group"}, 2, {}, "PORT ADDRESS", "no more of it"},
    {"group list", {"port"}, 0, {}, "[PORT]", "those that were joined"},
    {"port accept",
     {"port", "accept"},
     1,
     {"all_groups"},
     "PORT [all|own|rules]",
     "what comes besides flows and groups"},
    {"port list", {}, 0, {}, "", "its ports, and what they moved"},
    {"stop", {}, 0, {}, "", "ends it, as Ctrl-C does"},
};

size_t MostArguments(const Form& form) {
  return static_cast<size_t>(std::ranges::count_if(
      form.keys, [](absl::string_view key) { return !key.empty(); }));
}

std::string Usage(const Form& form) {
  return form.usage.empty() ? std::string(form.command)
                            : absl::StrCat(form.command, " ", form.usage);
}

// The form whose words `words` begin with, null if there is none.
const Form* FormOf(absl::string_view joined) {
  for (const Form& form : kForms) {
    if (joined == form.command ||
        absl::StartsWith(joined, absl::StrCat(form.command, " "))) {
      return &form;
    }
  }
  return nullptr;
}

std::string Text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Of an object: "a 1, b 2".
std::string Line(const Json& value) {
  if (!value.is_object()) return Text(value);
  std::vector<std::string> parts;
  for (const auto& [key, member] : value.items()) {
    const std::string text = Text(member);
    if (!text.empty()) parts.push_back(absl::StrCat(key, " ", text));
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace

absl::StatusOr<Json> RequestOf(std::span<const std::string> words,
                               const Json& options, absl::string_view folder) {
  const Form* const form = FormOf(absl::StrJoin(words, " "));
  if (form == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no such command: ", absl::StrJoin(words, " "), "; there are ",
        absl::StrJoin(kForms, ", ", [](std::string* out, const Form& each) {
          absl::StrAppend(out, each.command);
        })));
  }
  const auto command_words =
      1 + static_cast<size_t>(std::ranges::count(form->command, ' '));
  const auto arguments = words.subspan(command_words);
  if (arguments.size() < form->needed ||
      arguments.size() > MostArguments(*form)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "want ", Usage(*form), ", got ", arguments.size(), " arguments"));
  }
  Json request = {{"command", std::string(form->command)}};
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string key(form->keys[i]);
    uint64_t number = 0;
    if (key == "file" && !absl::StartsWith(arguments[i], "/")) {
      request[key] = absl::StrCat(folder, "/", arguments[i]);
    } else if (key == "id" && absl::SimpleAtoi(arguments[i], &number)) {
      request[key] = number;
    } else {
      request[key] = arguments[i];
    }
  }
  for (const auto& [key, value] : options.items()) {
    if (std::ranges::find(form->options, absl::string_view(key)) ==
        form->options.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(form->command, " takes no --", key));
    }
    request[key] = value;
  }
  return request;
}

std::string Commands() {
  std::string text;
  for (const Form& form : kForms) {
    absl::StrAppendFormat(&text, "  %-38s %s\n", Usage(form), form.about);
  }
  return text;
}

std::string FormatAnswer(const Json& answer) {
  std::string text;
  for (const auto& [key, value] : answer.items()) {
    if (key == "ok") continue;
    if (!value.is_array()) {
      absl::StrAppend(&text, key, ": ", Text(value), "\n");
      continue;
    }
    if (value.empty()) absl::StrAppend(&text, "no ", key, "\n");
    for (const Json& element : value) {
      absl::StrAppend(&text, Line(element), "\n");
    }
  }
  return text;
}

}  // namespace weir::control
