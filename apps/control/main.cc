// Asks something of a process of weir that runs: docs/control.md.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <thread>
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

ABSL_FLAG(bool, drops, false,
          "of capture start: packets that are dropped behind the place, with "
          "the reason");
ABSL_FLAG(std::string, direction, "both", "of capture start: rx, tx or both");
ABSL_FLAG(int32_t, lcore, -1, "of capture start: what one lcore sees");
ABSL_FLAG(uint64_t, snaplen, 0, "of capture start: bytes of a packet, at most");
ABSL_FLAG(uint64_t, count, 0, "of capture start: packets, at most");
ABSL_FLAG(uint64_t, bytes, 0, "of capture start: bytes of the file, at most");
ABSL_FLAG(std::string, time, "", "of capture start: such as 10s, at most");
ABSL_FLAG(std::string, all_groups, "",
          "of port accept: yes or no, whether all multicast comes");
ABSL_FLAG(std::string, sources, "",
          "of group join: addresses with commas between; any if empty");
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

// The flags that were given, as members of a request.
Json Options() {
  Json options = Json::object();
  if (absl::GetFlag(FLAGS_drops)) options["drops"] = true;
  const std::string all_groups = absl::GetFlag(FLAGS_all_groups);
  if (all_groups == "yes" || all_groups == "no") {
    options["all_groups"] = all_groups == "yes";
  } else if (!all_groups.empty()) {
    options["all_groups"] = all_groups;
  }
  const std::string direction = absl::GetFlag(FLAGS_direction);
  if (direction != "both") options["direction"] = direction;
  const int32_t lcore = absl::GetFlag(FLAGS_lcore);
  if (lcore >= 0) options["lcore"] = static_cast<uint64_t>(lcore);
  const auto number = [&options](const char* name, uint64_t value) {
    if (value != 0) options[name] = value;
  };
  number("snaplen", absl::GetFlag(FLAGS_snaplen));
  number("count", absl::GetFlag(FLAGS_count));
  number("bytes", absl::GetFlag(FLAGS_bytes));
  const std::string time = absl::GetFlag(FLAGS_time);
  if (!time.empty()) options["time"] = time;
  const std::string sources = absl::GetFlag(FLAGS_sources);
  if (!sources.empty()) options["sources"] = sources;
  return options;
}

// Waits until what `stopped` lists has written its files.
absl::Status WaitForFiles(LineClient& client, const Json& stopped) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    const auto line = client.Ask(R"({"command":"capture list"})", kPatience);
    if (!line.ok()) return line.status();
    const Json answer = Json::parse(*line, nullptr, false);
    if (!answer.is_object() || !answer.contains("captures")) break;
    bool any_left = false;
    for (const Json& capture : answer["captures"]) {
      any_left |= capture["state"] != "ended" &&
                  std::ranges::find(stopped, capture["id"]) != stopped.end();
    }
    if (!any_left) return absl::OkStatus();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return absl::DeadlineExceededError("the files are not written yet");
}

absl::Status Control(const std::vector<std::string>& words) {
  if (words.size() < 2) {
    return absl::InvalidArgumentError(
        "want a pid or the name of a program, and a command: see --help");
  }
  std::error_code ignored;
  const std::string folder = std::filesystem::current_path(ignored).string();
  const auto request =
      RequestOf(std::span(words).subspan(1), Options(), folder);
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
  if (answer.contains("stopped")) {
    const absl::Status whole = WaitForFiles(*client, answer["stopped"]);
    if (!whole.ok()) return whole;
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
                          "l2fwd flow add packet:eth0 "
                          "dst_ip=192.0.2.0/24,udp_dst_port=53\n"
                          "l2fwd capture start packet:eth0 eth0.pcapng "
                          "--count=1000\n"
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
