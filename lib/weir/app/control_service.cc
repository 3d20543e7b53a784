#include "weir/app/control_service.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weir {
namespace {

constexpr absl::string_view kCommand = "command";

std::string Dump(const ControlJson& json) {
  return json.dump(-1, ' ', false, ControlJson::error_handler_t::replace);
}

std::string ErrorAnswer(absl::string_view what) {
  return Dump({{"ok", false}, {"error", std::string(what)}});
}

absl::Status WrongType(absl::string_view key, absl::string_view type) {
  return absl::InvalidArgumentError(absl::StrCat(key, ": want ", type));
}

}  // namespace

bool ControlArguments::Has(absl::string_view key) const {
  return request_.contains(std::string(key));
}

absl::StatusOr<std::string> ControlArguments::Text(
    absl::string_view key) const {
  if (!Has(key)) {
    return absl::InvalidArgumentError(absl::StrCat(key, " is missing"));
  }
  return TextOr(key, "");
}

absl::StatusOr<std::string> ControlArguments::TextOr(
    absl::string_view key, absl::string_view fallback) const {
  if (!Has(key)) return std::string(fallback);
  const ControlJson& value = request_[std::string(key)];
  if (!value.is_string()) return WrongType(key, "a string");
  return value.get<std::string>();
}

absl::StatusOr<uint64_t> ControlArguments::NumberOr(absl::string_view key,
                                                    uint64_t fallback) const {
  if (!Has(key)) return fallback;
  const ControlJson& value = request_[std::string(key)];
  if (!value.is_number_unsigned()) {
    return WrongType(key, "a whole number from 0");
  }
  return value.get<uint64_t>();
}

absl::StatusOr<bool> ControlArguments::FlagOr(absl::string_view key,
                                              bool fallback) const {
  if (!Has(key)) return fallback;
  const ControlJson& value = request_[std::string(key)];
  if (!value.is_boolean()) return WrongType(key, "true or false");
  return value.get<bool>();
}

absl::StatusOr<std::unique_ptr<ControlService>> ControlService::Open(
    std::string path) {
  std::unique_ptr<ControlService> service(new ControlService());
  auto server = LineServer::Create(
      std::move(path),
      [here = service.get()](absl::string_view line) {
        return here->Answer(line);
      },
      ErrorAnswer(absl::StrCat("line too long: want at most ",
                               LineServer::kMaxLineBytes, " bytes")));
  if (!server.ok()) return server.status();
  service->server_ = *std::move(server);
  return service;
}

void ControlService::Add(std::string name, std::vector<std::string> keys,
                         Command command) {
  commands_[std::move(name)] = {std::move(keys), std::move(command)};
}

std::string ControlService::Answer(absl::string_view line) const {
  const absl::StatusOr<ControlJson> result = Run(line);
  if (!result.ok()) return ErrorAnswer(result.status().message());
  ControlJson answer = {{"ok", true}};
  answer.update(*result);
  return Dump(answer);
}

absl::StatusOr<ControlJson> ControlService::Run(absl::string_view line) const {
  // Depth is bounded by the length of lines; the parser does not recurse.
  const ControlJson request =
      ControlJson::parse(line.begin(), line.end(), nullptr, false);
  if (!request.is_object()) {
    return absl::InvalidArgumentError(
        R"(want a line of JSON such as {"command":"port list"})");
  }
  const ControlArguments arguments(request);
  const auto name = arguments.Text(kCommand);
  if (!name.ok()) return name.status();
  const auto found = commands_.find(*name);
  if (found == commands_.end()) {
    return absl::NotFoundError(absl::StrCat(
        "no such command: ", *name, "; there are ",
        absl::StrJoin(commands_, ", ", [](std::string* out, const auto& each) {
          out->append(each.first);
        })));
  }
  const auto& [keys, command] = found->second;
  for (const auto& [key, value] : request.items()) {
    if (key == kCommand || std::ranges::find(keys, key) != keys.end()) continue;
    const std::string known = keys.empty() ? "none" : absl::StrJoin(keys, ", ");
    return absl::InvalidArgumentError(absl::StrCat(
        *name, ": no such argument: ", key, "; there are ", known));
  }
  absl::StatusOr<ControlJson> result = command(arguments);
  if (result.ok()) return result;
  return absl::Status(result.status().code(),
                      absl::StrCat(*name, ": ", result.status().message()));
}

}  // namespace weir
