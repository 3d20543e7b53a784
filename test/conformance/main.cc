// Runs the checks in the labs that the command line names and prints what came
// of them. Each check in each lab is a test of GoogleTest, so that its report
// has them all.

#include <fnmatch.h>

#include <bit>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/labs/labs.h"
#include "test/conformance/options.h"
#include "test/conformance/probe.h"
#include "test/conformance/table.h"

namespace weir::conformance {
namespace {

// All tests of a suite have to be of one class.
using Fixture = ::testing::Test;

class CheckTest : public Fixture {
 public:
  CheckTest(const Check& check, Lab& lab, Table& table)
      : check_(check), lab_(lab), table_(table) {}

 private:
  void TestBody() override {
    lab_.Begin();
    check_.run(lab_);
    lab_.End();
    const std::string& lab = lab_.facts().name;
    HasFailure() ? table_.Fail(lab, check_.name)
                 : table_.Pass(lab, check_.name);
  }

  const Check& check_;
  Lab& lab_;
  Table& table_;
};

// What a soft device is known to have, and how many checks are not made of it.
class PinTest : public Fixture {
 public:
  PinTest(const Lab& lab, uint32_t capabilities, const Table& table)
      : lab_(lab), capabilities_(capabilities), table_(table) {}

 private:
  void TestBody() override {
    for (uint32_t bit = 1u << 16; bit != 0; bit <<= 1) {
      EXPECT_EQ((capabilities_ & bit) != 0,
                (lab_.facts().capabilities & bit) != 0)
          << NameOf(static_cast<Need>(bit)) << ": the first is what "
          << lab_.facts().name << " has, the second what its lab is to have";
    }
    EXPECT_EQ(table_.not_applicable(lab_.facts().name),
              lab_.facts().not_applicable)
        << "checks are not made in lab " << lab_.facts().name
        << "; if that is right, its not_applicable has to say so";
  }

  const Lab& lab_;
  uint32_t capabilities_;
  const Table& table_;
};

class SkippedTest : public Fixture {
 public:
  explicit SkippedTest(std::string why) : why_(std::move(why)) {}

 private:
  void TestBody() override { GTEST_SKIP() << why_; }

  std::string why_;
};

class Suite {
 public:
  explicit Suite(Options options) : options_(std::move(options)) {}

  int Run() {
    if (!options_.nic.device.empty()) {
      std::string error;
      auto lab = MakeNicLab(options_.nic, error);
      if (lab == nullptr || !Register(std::move(lab), error)) {
        return Complain(error);
      }
    }
    const bool all = options_.backends.empty() && labs_.empty();
    for (const std::string& name : all ? SoftLabNames() : options_.backends) {
      std::string error;
      auto lab = MakeSoftLab(name, network_, error);
      if (lab != nullptr && Register(std::move(lab), error)) continue;
      if (!all && !options_.skip_without_rights) {
        return Complain(name + ": " + error);
      }
      RegisterSkipped(name, error);
    }
    const int result = RUN_ALL_TESTS();
    std::fputs(table_.Text().c_str(), stdout);
    for (const std::string& line : not_run_) std::puts(line.c_str());
    return result;
  }

  void List() const {
    for (const CheckList& list : AllChecks()) {
      for (const Check& check : list) {
        if (IsWanted(check)) std::puts(check.name);
      }
    }
  }

 private:
  bool IsWanted(const Check& check) const {
    return fnmatch(options_.check.c_str(), check.name, 0) == 0;
  }

  static int Complain(const std::string& error) {
    std::fprintf(stderr, "conformance: %s\n", error.c_str());
    return 1;
  }

  // A lab that cannot be had here, for once as a test that is skipped.
  void RegisterSkipped(const std::string& name, const std::string& why) {
    not_run_.push_back(name + ": not run: " + why);
    ::testing::RegisterTest(
        name.c_str(), "can_be_had", nullptr, nullptr, __FILE__, __LINE__,
        [why]() -> Fixture* { return new SkippedTest(why); });
  }

  // All checks of a lab as tests; false, and why in `error`, if its device
  // cannot be used at all.
  bool Register(std::unique_ptr<Lab> owned, std::string& error) {
    owned->Begin();
    const uint32_t capabilities = Probe(*owned, error);
    owned->End();
    if (!error.empty()) return false;
    Lab& lab = *owned;
    const LabFacts& facts = lab.facts();
    labs_.push_back(std::move(owned));
    for (const CheckList& list : AllChecks()) {
      for (const Check& check : list) {
        if (IsWanted(check)) Register(check, lab, capabilities);
      }
    }
    if (facts.pinned && options_.check == "*") {
      ::testing::RegisterTest(facts.name.c_str(), "is_what_it_was", nullptr,
                              nullptr, __FILE__, __LINE__,
                              [this, &lab, capabilities]() -> Fixture* {
                                return new PinTest(lab, capabilities, table_);
                              });
    }
    return true;
  }

  void Register(const Check& check, Lab& lab, uint32_t capabilities) {
    const LabFacts& facts = lab.facts();
    table_.Expect(facts.name, check.name);
    const uint32_t missing = check.needs & ~(facts.gives | capabilities);
    if (missing != 0) {
      const auto first = static_cast<Need>(missing & (~missing + 1));
      const std::string why = (first & kCapabilities) != 0
                                  ? "the device has none"
                                  : facts.why_not(first);
      table_.NotApplicable(facts.name, check.name,
                           std::string(NameOf(first)) + ": " + why);
      return;
    }
    ::testing::RegisterTest(facts.name.c_str(), check.name, nullptr, nullptr,
                            __FILE__, __LINE__,
                            [this, &check, &lab]() -> Fixture* {
                              return new CheckTest(check, lab, table_);
                            });
  }

  Options options_;
  Network network_;
  std::vector<std::unique_ptr<Lab>> labs_;
  std::vector<std::string> not_run_;
  Table table_;
};

// Says nothing of what works: the table does.
class FailurePrinter : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& info) override {
    name_ = std::string(info.test_suite_name()) + ": " + info.name();
  }
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    const char* const file = result.file_name();
    std::printf("%s: %s:%d:\n%s\n", name_.c_str(), file == nullptr ? "" : file,
                result.line_number(), result.message());
    std::fflush(stdout);
  }

  std::string name_;
};

int Main(int argc, char** argv) {
  Options options;
  std::string error;
  if (!ParseOptions(argc, argv, options, error)) {
    std::fprintf(stderr, "conformance: %s\n", error.c_str());
    return 1;
  }
  if (options.help) {
    std::fputs(Usage().c_str(), stdout);
    return 0;
  }
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new FailurePrinter);
  Suite suite(std::move(options));
  if (options.list) {
    suite.List();
    return 0;
  }
  return suite.Run();
}

}  // namespace
}  // namespace weir::conformance

int main(int argc, char** argv) {
  // GoogleTest has a --help of its own: it gets to see its flags alone.
  std::vector<char*> theirs = {argv[0]};
  std::vector<char*> ours = {argv[0]};
  for (int i = 1; i < argc; ++i) {
    const bool is_theirs = std::string(argv[i]).starts_with("--gtest_");
    (is_theirs ? theirs : ours).push_back(argv[i]);
  }
  int count = static_cast<int>(theirs.size());
  ::testing::InitGoogleTest(&count, theirs.data());
  return weir::conformance::Main(static_cast<int>(ours.size()), ours.data());
}
