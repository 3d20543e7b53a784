// What came of each check in each lab, and how that is shown.

#ifndef WEIR_TEST_CONFORMANCE_TABLE_H_
#define WEIR_TEST_CONFORMANCE_TABLE_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace weir::conformance {

class Table {
 public:
  // A check that is going to be made or not.
  void Expect(const std::string& lab, const std::string& check);
  void Pass(const std::string& lab, const std::string& check);
  void Fail(const std::string& lab, const std::string& check);
  // Not made, and why.
  void NotApplicable(const std::string& lab, const std::string& check,
                     const std::string& reason);

  size_t not_applicable(const std::string& lab) const;

  // A row a check, a column a lab, the reasons as numbered notes, and totals.
  std::string Text() const;

 private:
  void Put(const std::string& lab, const std::string& check,
           const std::string& cell);
  std::string Totals(const std::string& lab) const;

  // In the order in which they came.
  std::vector<std::string> labs_;
  std::vector<std::string> checks_;
  std::vector<std::string> reasons_;
  // By check, then lab.
  std::map<std::string, std::map<std::string, std::string>> cells_;
};

}  // namespace weir::conformance

#endif  // WEIR_TEST_CONFORMANCE_TABLE_H_
