#include "test/conformance/table.h"

#include <algorithm>

namespace weir::conformance {
namespace {

constexpr char kPass[] = "pass";
constexpr char kFail[] = "FAIL";

// The place of `value` in `all`, where it is put if it is new.
size_t PlaceOf(std::vector<std::string>& all, const std::string& value) {
  const auto at = std::ranges::find(all, value);
  const auto place = static_cast<size_t>(at - all.begin());
  if (at == all.end()) all.push_back(value);
  return place;
}

std::string Padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

size_t Widest(const std::vector<std::string>& texts) {
  size_t width = 0;
  for (const std::string& text : texts) width = std::max(width, text.size());
  return width;
}

}  // namespace

void Table::Put(const std::string& lab, const std::string& check,
                const std::string& cell) {
  PlaceOf(labs_, lab);
  PlaceOf(checks_, check);
  cells_[check][lab] = cell;
}

void Table::Expect(const std::string& lab, const std::string& check) {
  Put(lab, check, "-");
}

void Table::Pass(const std::string& lab, const std::string& check) {
  Put(lab, check, kPass);
}

void Table::Fail(const std::string& lab, const std::string& check) {
  Put(lab, check, kFail);
}

void Table::NotApplicable(const std::string& lab, const std::string& check,
                          const std::string& reason) {
  const size_t note = PlaceOf(reasons_, lab + ": " + reason) + 1;
  Put(lab, check, "n/a " + std::to_string(note));
}

size_t Table::not_applicable(const std::string& lab) const {
  return static_cast<size_t>(
      std::ranges::count_if(cells_, [&lab](const auto& row) {
        return row.second.at(lab).starts_with("n/a");
      }));
}

std::string Table::Totals(const std::string& lab) const {
  size_t passed = 0;
  size_t failed = 0;
  for (const auto& [check, row] : cells_) {
    if (row.at(lab) == kPass) ++passed;
    if (row.at(lab) == kFail) ++failed;
  }
  return lab + ": " + std::to_string(passed) + " passed, " +
         std::to_string(failed) + " failed, " +
         std::to_string(not_applicable(lab)) + " not applicable\n";
}

std::string Table::Text() const {
  const size_t first = Widest(checks_) + 2;
  const size_t other = std::max<size_t>(Widest(labs_), 7) + 2;
  std::string text = Padded("check", first);
  for (const std::string& lab : labs_) text += Padded(lab, other);
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
  for (const std::string& check : checks_) {
    text += Padded(check, first);
    const auto& row = cells_.at(check);
    for (const std::string& lab : labs_) text += Padded(row.at(lab), other);
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  text += '\n';
  for (size_t i = 0; i < reasons_.size(); ++i) {
    text += "n/a " + std::to_string(i + 1) + ": " + reasons_[i] + '\n';
  }
  for (const std::string& lab : labs_) text += Totals(lab);
  return text;
}

}  // namespace weir::conformance
