#include "weir/app/app_main.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::ExitedWithCode;

// Runs AppMain with `arguments` and exits with its code; `run` gets the app.
[[noreturn]] void Main(std::vector<std::string> arguments,
                       absl::Status (*run)(App&),
                       const AppInfo& info = {.about = "Tests."}) {
  arguments.insert(arguments.begin(), "/somewhere/tool");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  std::exit(
      AppMain(static_cast<int>(pointers.size()), pointers.data(), info, run));
}

absl::Status Succeed(App&) { return absl::OkStatus(); }
absl::Status Fail(App&) { return absl::NotFoundError("it: is not there"); }

// Flags are global: every run has a process of its own.
TEST(AppMainDeathTest, ExitsWith0WhenTheAppDoesWell) {
  EXPECT_EXIT(Main({"a:", "b:"}, Succeed), ExitedWithCode(0), "^$");
}

TEST(AppMainDeathTest, PrintsOneLineAndExitsWith1WhenItFails) {
  EXPECT_EXIT(Main({}, Fail), ExitedWithCode(1), "^tool: it: is not there\n$");
}

TEST(AppMainDeathTest, ExitsWith0ForHelp) {
  EXPECT_EXIT(Main({"--help"}, Fail), ExitedWithCode(0), "^$");
}

TEST(AppMainDeathTest, ExitsWith1ForAFlagItDoesNotKnow) {
  EXPECT_EXIT(Main({"--bogus"}, Succeed), ExitedWithCode(1), "bogus");
}

TEST(AppMainDeathTest, KnowsThatLcoresAreToKeepPolling) {
  EXPECT_EXIT(Main({"--busy_poll"}, Succeed), ExitedWithCode(0), "^$");
}

TEST(AppMainDeathTest, NamesTheFlagWhoseValueIsBad) {
  EXPECT_EXIT(Main({"--duration=soon"}, Succeed), ExitedWithCode(1),
              "^tool: --duration: want seconds .* got \"soon\"\n$");
  EXPECT_EXIT(Main({"--stats=-1"}, Succeed), ExitedWithCode(1),
              "^tool: --stats: want seconds .* got \"-1\"\n$");
}

TEST(AppMainDeathTest, RefusesAFlagOfAnotherCommand) {
  const AppInfo info = {
      .about = "Tests.",
      .commands = {"eat", "drink", "sleep"},
      .command_flags = {{"lcores", {"eat", "drink"}}, {"stats", {"sleep"}}}};
  EXPECT_EXIT(Main({"eat", "--lcores=0"}, Succeed, info), ExitedWithCode(0),
              "^$");
  EXPECT_EXIT(Main({"sleep", "--lcores=0"}, Succeed, info), ExitedWithCode(1),
              "^tool: --lcores: a flag of eat and drink, not of sleep\n$");
  EXPECT_EXIT(Main({"eat", "--stats=2s"}, Succeed, info), ExitedWithCode(1),
              "^tool: --stats: a flag of sleep, not of eat\n$");
}

// Whether a file that is opened now cannot be mistaken for standard output.
absl::Status OpenAFile(App&) {
  const int descriptor = open("/dev/null", O_WRONLY);
  return descriptor > STDERR_FILENO ? absl::OkStatus()
                                    : absl::InternalError("in the way");
}

TEST(AppMainDeathTest, KeepsFilesApartFromClosedStandardDescriptors) {
  EXPECT_EXIT(
      {
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        Main({"a:", "b:"}, OpenAFile);
      },
      ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weir
