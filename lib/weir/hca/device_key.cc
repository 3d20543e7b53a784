#include "weir/hca/device_key.h"

#include <cstddef>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace weir::hca {
namespace {

const std::string* FindOption(const DeviceKey& key, absl::string_view name) {
  const auto it = absl::c_find_if(
      key.options, [name](const auto& option) { return option.first == name; });
  return it == key.options.end() ? nullptr : &it->second;
}

}  // namespace

absl::string_view DeviceKey::Option(absl::string_view name,
                                    absl::string_view fallback) const {
  const std::string* value = FindOption(*this, name);
  return value == nullptr ? fallback : absl::string_view(*value);
}

absl::StatusOr<DeviceKey> ParseDeviceKey(absl::string_view text) {
  const size_t colon = text.find(':');
  if (colon == absl::string_view::npos || colon == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(text, ": not of the form kind:argument[,key=value...]"));
  }
  DeviceKey key;
  key.text = std::string(text);
  key.kind = std::string(text.substr(0, colon));
  const std::vector<absl::string_view> parts =
      absl::StrSplit(text.substr(colon + 1), ',');
  key.argument = std::string(parts[0]);
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::pair<absl::string_view, absl::string_view> option =
        absl::StrSplit(parts[i], absl::MaxSplits('=', 1));
    if (option.first.empty() || !absl::StrContains(parts[i], "=")) {
      return absl::InvalidArgumentError(absl::StrCat(
          text, ": \"", parts[i], "\" is not of the form key=value"));
    }
    if (FindOption(key, option.first) != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(text, ": key \"", option.first, "\" is given twice"));
    }
    key.options.emplace_back(option.first, option.second);
  }
  return key;
}

absl::Status CheckOptions(const DeviceKey& key,
                          const std::vector<absl::string_view>& known) {
  for (const auto& [name, value] : key.options) {
    if (absl::c_linear_search(known, name)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        key.text, ": unknown key \"", name, "\"; ", key.kind, " knows ",
        known.empty() ? "none" : absl::StrJoin(known, ", ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> NumberOption(const DeviceKey& key,
                                      absl::string_view name,
                                      const NumberRange& range) {
  const std::string* value = FindOption(key, name);
  if (value == nullptr) return range.fallback;
  uint64_t number = 0;
  if (!absl::SimpleAtoi(*value, &number) || number < range.min ||
      number > range.max) {
    return absl::InvalidArgumentError(
        absl::StrCat(key.text, ": ", name, "=", *value, ": want a number from ",
                     range.min, " to ", range.max));
  }
  return number;
}

absl::StatusOr<bool> SwitchOption(const DeviceKey& key, absl::string_view name,
                                  bool fallback) {
  const std::string* value = FindOption(key, name);
  if (value == nullptr) return fallback;
  if (*value == "on") return true;
  if (*value == "off") return false;
  return absl::InvalidArgumentError(absl::StrCat(
      key.text, ": ", name, "=", *value, ": want \"on\" or \"off\""));
}

}  // namespace weir::hca
