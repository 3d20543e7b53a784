// Asks something of a process of weir that runs: docs/control.md.

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "apps/control/request.h"
#include "weir/app/command_line.h"
#include "weir/control/line_client.h"
#include "weir/metrics/process_list.h"
#include "weir/metrics/segment_list.h"
#include "weir/metrics/segment_reader.h"
#include "weir/metrics/segment_writer.h"

ABSL_FLAG(bool, json, false, "print the answer as the line of JSON it is");

namespace weir::control {
namespace {

// A process answers between two polls of its control thread.
constexpr std::chrono::milliseconds kPatience(10'000);

// The control socket of the one process called `name`.
absl::StatusOr<std::string> SocketOf(const std::string& name) {
  const Processes processes = FindProcesses(kSegmentFolder, {{name}});
  if (!processes.missing.ok()) return processes.missing;
  if (processes.found.size() > 1) {
    std::string pids;
    for (const SegmentReader& process : processes.found) {
      absl::StrAppend(&pids, pids.empty() ? "" : ", ", process.pid());
    }
    return absl::InvalidArgumentError(
        absl::StrCat(processes.found.size(), " processes are called ", name,
                     "; say which by pid: ", pids));
  }
  return ControlSocketOf(processes.found[0].path());
}

absl::Status Control(const std::vector<std::string>& words) {
  if (words.size() < 2) {
    return absl::InvalidArgumentError(
        "want a pid or the name of a program, and a command: see --help");
  }
  std::error_code ignored;
  const std::string folder = std::filesystem::current_path(ignored).string();
  const auto request =
      RequestOf(std::span(words).subspan(1), Json::object(), folder);
  if (!request.ok()) return request.status();
  const auto socket = SocketOf(words[0]);
  if (!socket.ok()) return socket.status();
  auto client = LineClient::Connect(*socket);
  if (!client.ok()) return client.status();
  const auto line = client->Ask(
      request->dump(-1, ' ', false, Json::error_handler_t::replace), kPatience);
  if (!line.ok()) return line.status();
  const Json answer = Json::parse(*line, nullptr, false);
  if (!answer.is_object() || !answer.contains("ok")) {
    return absl::DataLossError(absl::StrCat("an answer that is none: ", *line));
  }
  const bool is_json = absl::GetFlag(FLAGS_json);
  if (answer["ok"] != true && !is_json) {
    return absl::InvalidArgumentError(answer.value("error", "no reason given"));
  }
  std::fputs(
      (is_json ? absl::StrCat(*line, "\n") : FormatAnswer(answer)).c_str(),
      stdout);
  if (std::fflush(stdout) != 0) {
    return absl::DataLossError("standard output could not be written");
  }
  return answer["ok"] == true ? absl::OkStatus() : absl::UnknownError("");
}

}  // namespace
}  // namespace weir::control

int main(int argc, char** argv) {
  weir::FillStandardDescriptors();
  const std::string name = weir::ProgramName(argc, argv);
  if (weir::WantsHelp(argc, argv)) {
    const std::string text = absl::StrCat(
        "Asks something of a process of weir that runs.\n\nUsage: ", name,
        " [FLAG...] PID|NAME COMMAND [ARGUMENT...]\n\nCommands:\n",
        weir::control::Commands(), "\n",
        weir::FormatFlags(name,
                          "l2fwd stats 100ms\n"
                          "4711 port list\n"));
    std::fputs(text.c_str(), stdout);
    return 0;
  }
  const std::vector<char*> arguments = absl::ParseCommandLine(argc, argv);
  const absl::Status status =
      weir::control::Control({arguments.begin() + 1, arguments.end()});
  if (status.ok()) return 0;
  if (!status.message().empty()) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(),
                 std::string(status.message()).c_str());
  }
  return 1;
}
