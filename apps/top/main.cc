// Shows what the processes of weir on this machine are doing, as they do it.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "apps/top/sample.h"
#include "apps/top/screen.h"
#include "apps/top/terminal.h"
#include "weir/app/command_line.h"
#include "weir/app/flag_values.h"
#include "weir/metrics/open_metrics.h"
#include "weir/metrics/process_list.h"
#include "weir/metrics/segment_writer.h"

ABSL_FLAG(bool, once, false, "print one screen, over one interval, and end");
ABSL_FLAG(bool, json, false,
          "print every counter as JSON and end; rates are left to the reader");
ABSL_FLAG(bool, openmetrics, false,
          "print every counter as OpenMetrics text and end");
ABSL_FLAG(std::string, interval, "1s",
          "time between two samples: seconds, or with unit such as 500ms");

namespace weir::top {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

std::vector<Sample> TakeSamples(std::vector<SegmentReader>& processes) {
  std::vector<Sample> samples;
  for (SegmentReader& process : processes) {
    samples.push_back(TakeSample(process));
  }
  return samples;
}

void PrintJson(const std::vector<Sample>& samples) {
  Json processes = Json::array();
  for (const Sample& sample : samples) {
    Json metrics = Json::array();
    for (const Metric& metric : sample.metrics) {
      Json labels = Json::object();
      for (const auto& [key, value] : metric.labels) labels[key] = value;
      metrics.push_back(
          {{"name", metric.name},
           {"kind",
            metric.kind == Metric::Kind::kCounter ? "counter" : "gauge"},
           {"labels", labels},
           {"value", metric.value}});
    }
    processes.push_back({{"app", sample.app},
                         {"pid", sample.pid},
                         {"alive", sample.is_alive},
                         {"written_unix_ns", sample.written_unix_ns},
                         {"omitted", sample.omitted},
                         {"error", sample.error},
                         {"metrics", metrics}});
  }
  const Json all = {{"processes", processes}};
  std::printf("%s\n",
              all.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

void PrintOpenMetrics(const std::vector<Sample>& samples) {
  std::vector<Metric> all;
  for (const Sample& sample : samples) {
    for (Metric metric : sample.metrics) {
      metric.labels.insert(
          metric.labels.begin(),
          {{"app", sample.app}, {"pid", absl::StrCat(sample.pid)}});
      all.push_back(std::move(metric));
    }
  }
  std::fputs(FormatOpenMetrics(all).c_str(), stdout);
}

// The screens of all processes, one below the other.
std::vector<std::string> AllLines(const std::vector<Sample>& before,
                                  const std::vector<Sample>& now) {
  std::vector<std::string> lines;
  for (const Sample& sample : now) {
    const auto same = std::ranges::find(before, sample.pid, &Sample::pid);
    const Sample& older = same == before.end() ? sample : *same;
    if (!lines.empty()) lines.emplace_back();
    for (std::string& line : FormatScreen(older, sample)) {
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

// Two samples, `interval` apart.
void PrintOnce(std::vector<SegmentReader>& processes,
               std::chrono::milliseconds interval) {
  const std::vector<Sample> before = TakeSamples(processes);
  std::this_thread::sleep_for(interval);
  for (const std::string& line : AllLines(before, TakeSamples(processes))) {
    std::printf("%s\n", line.c_str());
  }
}

// Until the user has seen enough. Processes come and go meanwhile.
absl::Status Watch(std::span<const std::string> wanted,
                   std::chrono::milliseconds interval) {
  absl::StatusOr<Terminal> terminal = Terminal::Open();
  if (!terminal.ok()) return terminal.status();
  std::vector<Sample> before;
  bool is_paused = false;
  for (;;) {
    Processes processes = FindProcesses(kSegmentFolder, wanted);
    std::vector<Sample> now = TakeSamples(processes.found);
    if (!is_paused) {
      std::vector<std::string> lines = AllLines(before, now);
      if (!processes.missing.ok()) {
        lines.emplace_back(processes.missing.message());
      }
      terminal->Show(lines, " q quit   space pause   up, down, page: scroll");
      before = std::move(now);
    }
    const Clock::time_point next = Clock::now() + interval;
    while (Clock::now() < next) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
      const Terminal::Key key =
          terminal->WaitForKey(std::max(left, std::chrono::milliseconds(1)));
      if (key == Terminal::Key::kQuit) return absl::OkStatus();
      if (key == Terminal::Key::kPause) is_paused = !is_paused;
    }
  }
}

absl::StatusOr<std::chrono::milliseconds> ReadInterval() {
  const auto time = ParseDuration(absl::GetFlag(FLAGS_interval));
  const auto error = [](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("--interval: ", what));
  };
  if (!time.ok()) return error(time.status().message());
  const auto interval = absl::ToChronoMilliseconds(*time);
  if (interval < std::chrono::milliseconds(100) ||
      interval > std::chrono::hours(1)) {
    return error(
        absl::StrCat("want 100ms to 1h, got ", absl::GetFlag(FLAGS_interval)));
  }
  return interval;
}

absl::Status Top(const std::vector<std::string>& wanted) {
  const auto interval = ReadInterval();
  if (!interval.ok()) return interval.status();
  const bool json = absl::GetFlag(FLAGS_json);
  const bool open_metrics = absl::GetFlag(FLAGS_openmetrics);
  if (json && open_metrics) {
    return absl::InvalidArgumentError("want --json or --openmetrics, not both");
  }
  // Before the terminal is taken over: an error is a line.
  Processes processes = FindProcesses(kSegmentFolder, wanted);
  if (!processes.missing.ok()) return processes.missing;
  if (json) {
    PrintJson(TakeSamples(processes.found));
  } else if (open_metrics) {
    PrintOpenMetrics(TakeSamples(processes.found));
  } else if (absl::GetFlag(FLAGS_once)) {
    PrintOnce(processes.found, *interval);
  } else {
    return Watch(wanted, *interval);
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return absl::DataLossError("standard output could not be written");
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace weir::top

int main(int argc, char** argv) {
  weir::FillStandardDescriptors();
  const std::string name = weir::ProgramName(argc, argv);
  if (weir::WantsHelp(argc, argv)) {
    const std::string text = absl::StrCat(
        "Shows what processes of weir are doing, as they do it.\n\nUsage: ",
        name, " [FLAG...] [PID|NAME...]\n\n",
        weir::FormatFlags(name,
                          "\n"
                          "l2fwd\n"
                          "--once --json 4711\n"
                          "--openmetrics\n"));
    std::fputs(text.c_str(), stdout);
    return 0;
  }
  const std::vector<char*> arguments = absl::ParseCommandLine(argc, argv);
  const absl::Status status =
      weir::top::Top({arguments.begin() + 1, arguments.end()});
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", name.c_str(),
               std::string(status.message()).c_str());
  return 1;
}
