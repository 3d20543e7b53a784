#include "weir/app/app_main.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/reflection.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "weir/app/command_line.h"
#include "weir/app/flag_values.h"

ABSL_FLAG(std::string, lcores, "",
          "where pipelines run, in turn: numbers and ranges such as 0,2-4; "
          "chosen near the ports if empty");
ABSL_FLAG(
    std::string, duration, "",
    "end after this time: seconds, or with unit such as 500ms or 1m30s; "
    "without it run until SIGINT, SIGTERM, SIGHUP or the end of all input");
ABSL_FLAG(bool, busy_poll, false,
          "keep lcores polling while nothing comes; by default they sleep");
ABSL_FLAG(bool, demo, false,
          "if no port is named, show on soft devices what the app does, for "
          "five seconds");
ABSL_FLAG(std::string, stats, "1s",
          "time between two lines of rates, as --duration; 0 for none");
ABSL_FLAG(std::string, tx_watchdog, "5s",
          "reset a queue that has frames to send and completes none for this "
          "time, as --duration; 0: never");
ABSL_FLAG(bool, plan, false,
          "run nothing: print which pipeline would run on which lcore; --json "
          "has it too");
ABSL_FLAG(std::string, json, "", "write the final table to this file, as JSON");

namespace weir {
namespace {

constexpr absl::Duration kDemoDuration = absl::Seconds(5);

constexpr absl::string_view kPortHelp =
    R"(Ports:
  mlx5_0, mlx5_0:2    a verbs device, and the number of its port
  eth0                a netdev: its verbs device if that can do raw packets,
                      else xdp:eth0 where that opens, else packet:eth0
  null:[,size=BYTES]  makes frames at full speed, swallows what is sent
  wire:NAME           an end of a wire between programs
  pcap:[IN][,out=OUT] receives the frames of a capture, writes one
  packet:NETDEV       a netdev through packet sockets: sees what the kernel sees
  xdp:NETDEV          a netdev through AF_XDP: takes what rules ask for
  tap:NAME            a new netdev, the kernel at its other end
  loopback:           receives what it sends
)";

void PrintHelp(absl::string_view name, const AppInfo& info) {
  const std::string text =
      absl::StrCat(info.about, "\n\nUsage: ", name, " ",
                   info.commands.empty()
                       ? ""
                       : absl::StrCat(absl::StrJoin(info.commands, "|"), " "),
                   "[FLAG...] PORT...\n\n", kPortHelp, "\n",
                   FormatFlags(name, info.examples));
  std::fputs(text.c_str(), stdout);
}

// The value of a flag, or an error that starts with its name.
template <typename T>
absl::StatusOr<T> Named(absl::string_view flag, absl::StatusOr<T> value) {
  if (value.ok()) return value;
  return absl::Status(value.status().code(),
                      absl::StrCat(flag, ": ", value.status().message()));
}

absl::StatusOr<AppOptions> ReadFlags(AppOptions options) {
  options.lcores = absl::GetFlag(FLAGS_lcores);
  const std::string duration = absl::GetFlag(FLAGS_duration);
  if (!duration.empty()) {
    const auto time = Named("--duration", ParseDuration(duration));
    if (!time.ok()) return time.status();
    options.duration = *time;
  }
  const auto interval =
      Named("--stats", ParseDuration(absl::GetFlag(FLAGS_stats)));
  if (!interval.ok()) return interval.status();
  options.stats_interval = *interval;
  const auto watchdog =
      Named("--tx_watchdog", ParseDuration(absl::GetFlag(FLAGS_tx_watchdog)));
  if (!watchdog.ok()) return watchdog.status();
  options.tx_watchdog = *watchdog;
  options.json_file = absl::GetFlag(FLAGS_json);
  options.only_plan = absl::GetFlag(FLAGS_plan);
  if (absl::GetFlag(FLAGS_busy_poll)) options.when_idle = WhenIdle::kPoll;
  return options;
}

// Moves the command from the front of the arguments to where it belongs.
absl::Status TakeCommand(const AppInfo& info, AppOptions& options) {
  if (info.commands.empty()) return absl::OkStatus();
  const std::string wanted = absl::StrJoin(info.commands, ", ");
  if (options.ports.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("want one of ", wanted, " first; see --help"));
  }
  options.command = options.ports.front();
  options.ports.erase(options.ports.begin());
  if (std::find(info.commands.begin(), info.commands.end(), options.command) ==
      info.commands.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("want one of ", wanted, " first, got ", options.command));
  }
  return absl::OkStatus();
}

// Whether all flags that say something are of the command.
absl::Status CheckFlags(const AppInfo& info, const std::string& command) {
  for (const CommandFlag& flag : info.command_flags) {
    const absl::CommandLineFlag* found = absl::FindCommandLineFlag(flag.name);
    if (found == nullptr || found->CurrentValue() == found->DefaultValue()) {
      continue;
    }
    if (std::ranges::find(flag.commands, command) == flag.commands.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--", flag.name, ": a flag of ",
          absl::StrJoin(flag.commands, " and "), ", not of ", command));
    }
  }
  return absl::OkStatus();
}

// Runs the app and returns what the process ends with.
absl::StatusOr<int> Run(AppOptions parsed, absl::Status (*run)(App&)) {
  absl::StatusOr<AppOptions> options = ReadFlags(std::move(parsed));
  if (!options.ok()) return options.status();
  absl::StatusOr<std::unique_ptr<App>> app = App::Create(*std::move(options));
  if (!app.ok()) return app.status();
  const absl::Status status = run(**app);
  if (!status.ok()) return status;
  return (*app)->warnings() == 0 ? 0 : 1;
}

}  // namespace

int AppMain(int argc, char** argv, const AppInfo& info,
            absl::Status (*run)(App&)) {
  FillStandardDescriptors();
  AppOptions options;
  options.name = ProgramName(argc, argv);
  if (WantsHelp(argc, argv)) {
    PrintHelp(options.name, info);
    return 0;
  }
  const std::vector<char*> arguments = absl::ParseCommandLine(argc, argv);
  options.ports.assign(arguments.begin() + 1, arguments.end());
  if (options.ports.empty() && absl::GetFlag(FLAGS_demo)) {
    options.ports = info.demo_ports;
    options.duration = kDemoDuration;
  }
  const std::string name = options.name;
  absl::Status command = TakeCommand(info, options);
  if (command.ok()) command = CheckFlags(info, options.command);
  absl::StatusOr<int> exit_code = 1;
  if (command.ok()) {
    exit_code = Run(std::move(options), run);
  } else {
    exit_code = command;
  }
  if (exit_code.ok()) return *exit_code;
  std::fprintf(stderr, "%s: %s\n", name.c_str(),
               std::string(exit_code.status().message()).c_str());
  return 1;
}

}  // namespace weir
