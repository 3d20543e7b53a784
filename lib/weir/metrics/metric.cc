#include "weir/metrics/metric.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

std::string Escape(absl::string_view value) {
  std::string escaped;
  for (const char c : value) {
    if (c == '\n') {
      escaped += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// Takes a value up to its closing quote off the front of `text`; nothing if
// there is none.
std::optional<std::string> TakeValue(absl::string_view& text) {
  std::string value;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      text.remove_prefix(i + 1);
      return value;
    }
    if (c == '\\') {
      if (++i == text.size()) return std::nullopt;
      c = text[i] == 'n' ? '\n' : text[i];
    }
    value += c;
  }
  return std::nullopt;
}

// The labels in `text`, which is what stands between the braces and the closing
// one.
std::optional<Metric::Labels> ParseLabels(absl::string_view text) {
  Metric::Labels labels;
  for (;;) {
    const size_t equals = text.find("=\"");
    if (equals == absl::string_view::npos) return std::nullopt;
    std::string key(text.substr(0, equals));
    text.remove_prefix(equals + 2);
    std::optional<std::string> value = TakeValue(text);
    if (!value || text.empty()) return std::nullopt;
    labels.emplace_back(std::move(key), *std::move(value));
    const char next = text.front();
    text.remove_prefix(1);
    if (next == '}' && text.empty()) return labels;
    if (next != ',') return std::nullopt;
  }
}

}  // namespace

absl::string_view Metric::label(absl::string_view key) const {
  for (const auto& [each, text] : labels) {
    if (each == key) return text;
  }
  return "";
}

bool Metric::Has(const Labels& wanted) const {
  return std::ranges::all_of(wanted, [this](const auto& each) {
    return label(each.first) == each.second;
  });
}

std::string FormatLabels(const Metric::Labels& labels) {
  if (labels.empty()) return "";
  std::string text = "{";
  for (const auto& [key, value] : labels) {
    absl::StrAppend(&text, text.size() == 1 ? "" : ",", key, "=\"",
                    Escape(value), "\"");
  }
  return text + "}";
}

std::string FormatKey(const Metric& metric) {
  return absl::StrCat(metric.kind == Metric::Kind::kCounter ? "c" : "g", " ",
                      metric.name, FormatLabels(metric.labels));
}

std::optional<Metric> ParseKey(absl::string_view line) {
  if (line.size() < 3 || line[1] != ' ') return std::nullopt;
  if (line[0] != 'c' && line[0] != 'g') return std::nullopt;
  Metric metric;
  metric.kind = line[0] == 'c' ? Metric::Kind::kCounter : Metric::Kind::kGauge;
  line.remove_prefix(2);
  const size_t brace = line.find('{');
  metric.name = std::string(line.substr(0, brace));
  if (metric.name.empty()) return std::nullopt;
  if (brace == absl::string_view::npos) return metric;
  auto labels = ParseLabels(line.substr(brace + 1));
  if (!labels) return std::nullopt;
  metric.labels = *std::move(labels);
  return metric;
}

}  // namespace weir
