// Flow rules the slow way, to compare the software HCA with: specs are lists of
// byte comparisons, rules a list that every frame walks. Shares nothing with
// lib/weir.

#ifndef WEIR_TEST_SUPPORT_NAIVE_FLOWS_H_
#define WEIR_TEST_SUPPORT_NAIVE_FLOWS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weir {

using NaiveBytes = std::vector<uint8_t>;

// A frame's header fields by name, in network order, and its headers.
struct NaiveFrame {
  std::map<std::string, NaiveBytes> fields;
  std::set<std::string> headers;
};

NaiveFrame NaiveParse(std::span<const uint8_t> frame);

// What a flow attribute says. `tests` are value and mask by field, the value
// masked, without those whose masks are zero.
struct NaiveRule {
  // The number of ibv_flow_attr_type.
  uint32_t type = 0;
  uint16_t priority = 0;
  bool traps = true;
  std::set<std::string> headers;
  std::map<std::string, std::pair<NaiveBytes, NaiveBytes>> tests;
  std::optional<uint32_t> tag;
  bool drops = false;
  bool counts = false;

  bool Matches(const NaiveFrame& frame) const;
  // True if the two look for the same frames at the same time.
  bool SameAs(const NaiveRule& other) const;
};

// Reads an ibv_flow_attr with its specs from bytes, zeros behind them. 0, or
// what ibv_create_flow has to say.
int NaiveRead(std::span<const uint8_t> bytes, NaiveRule& rule);

// Rules with their users.
class NaiveSteering {
 public:
  // A receiver and the tag of the rule.
  using Copy = std::pair<int, uint32_t>;

  // Adds a rule for `receiver` that `id` stands for. 0 or EEXIST.
  int Add(const NaiveRule& rule, int receiver, int id);
  void Remove(int id);

  struct Verdict {
    // Sorted.
    std::vector<Copy> copies;
    // The users of rules that applied.
    std::set<int> ids;
    bool dropped = false;
  };
  // `sniffed`: for rules that do not trap, and sniffers.
  Verdict Find(std::span<const uint8_t> frame, bool sniffed = false) const;

 private:
  struct Group {
    NaiveRule rule;
    uint32_t tag;
    int age;
    // Receiver by user.
    std::map<int, int> users;
  };

  std::vector<Group> groups_;
  int next_age_ = 0;
};

}  // namespace weir

#endif  // WEIR_TEST_SUPPORT_NAIVE_FLOWS_H_
