#include "weir/app/port_watch.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "weir/port/port_info.h"
#include "weir/port/queue_failures.h"
#include "weir/port/queue_stats.h"

namespace weir {
namespace {

// What becomes of a link that is in this state.
absl::string_view LinkText(PortState state) {
  return state == PortState::kUp
             ? "link is up again"
             : "link is down; what is sent is dropped and counted until it is "
               "up";
}

// What becomes of a queue that failed.
std::string RepairText(const QueueStats& queue) {
  const bool anew = queue.last_failure == NameOf(QueueFailure::kBrokenCq);
  const bool stalled = queue.last_failure == NameOf(QueueFailure::kStalled);
  const absl::string_view repair = anew ? "it is made anew" : "it is reset";
  if (queue.name.starts_with("rx")) {
    return absl::StrCat(repair, " and filled again");
  }
  return absl::StrCat(repair, ", what it was sending counts as ",
                      stalled ? "stalled" : "lost-in-recovery");
}

// What a counter of a device stands for.
struct Meaning {
  absl::string_view counter;
  absl::string_view text;
};
// Why a device did not send what was given to it, by its counters: what a
// sender would not learn from its own.
constexpr Meaning kUnsentReasons[] = {
    {"tx_link_down", "the link was down"},
    {"tx_no_peer", "nobody was at the other end"},
    {"tx_too_long", "they are longer than the link takes"}};

// What became of frames that no stage can tell of, for it did not get them, or
// not all of them.
constexpr Meaning kMissedReasons[] = {
    {"rx_oversize",
     "frames not received as they are longer than its MTU takes"},
    {"rx_captured_short", "frames of which the capture has a part only"}};

// Of those of `meanings` that a device has counted: the text, and the count.
std::vector<std::string> LinesOf(const PortMonitor& monitor,
                                 std::span<const Meaning> meanings,
                                 absl::string_view before = "") {
  std::vector<std::string> lines;
  const std::vector<NamedCount> counts = monitor.device_counters();
  for (const Meaning& meaning : meanings) {
    const auto at =
        std::ranges::find(counts, meaning.counter, &NamedCount::name);
    if (at == counts.end() || at->value == 0) continue;
    lines.push_back(absl::StrCat("port ", monitor.info().name, ": ", before,
                                 meaning.text, " (", meaning.counter,
                                 "): ", at->value));
  }
  return lines;
}

std::string Times(uint64_t times) {
  return times == 1 ? "" : absl::StrCat(" ", times, " times");
}

}  // namespace

PortWatch::PortWatch(std::vector<std::shared_ptr<PortMonitor>> ports) {
  for (std::shared_ptr<PortMonitor>& monitor : ports) {
    Watched& port = ports_.emplace_back();
    port.monitor = std::move(monitor);
    port.queues.resize(port.monitor->queues().size());
  }
}

std::vector<std::string> PortWatch::Look(Clock::time_point now) {
  std::vector<std::string> news;
  const bool asks = now >= ask_at_;
  if (asks) ask_at_ = now + kAskEvery;
  for (Watched& port : ports_) {
    port.monitor->TakeEvents();
    if (asks) port.monitor->CheckState();
    LookAtLink(port, now, news);
    LookAtQueues(port, now, news);
  }
  return news;
}

void PortWatch::LookAtLink(Watched& port, Clock::time_point now,
                           std::vector<std::string>& news) {
  const PortState state = port.monitor->state();
  const std::string name = absl::StrCat("port ", port.monitor->info().name);
  if (state == PortState::kGone) {
    if (!std::exchange(port.was_gone, true)) {
      news.push_back(absl::StrCat(
          name,
          ": its device is gone; nothing comes from it any more, what is "
          "sent to it is dropped and counted (port-gone)"));
    }
    return;
  }
  uint64_t changes = port.monitor->state_changes() -
                     std::exchange(port.changes, port.monitor->state_changes());
  // A link that was down from the start has not changed.
  const bool is_first = !std::exchange(port.was_looked_at, true);
  if (is_first && state == PortState::kDown && changes == 0) changes = 1;
  if (changes != 0 && port.gate.Admit(changes, now)) {
    const bool came_back = changes > 1 && state == PortState::kUp;
    news.push_back(absl::StrCat(name, ": ", came_back ? "link was down; " : "",
                                LinkText(state)));
  }
  const uint64_t withheld = port.gate.TakeWithheld(now);
  if (withheld == 0) return;
  news.push_back(absl::StrCat(name, ": link changed ", withheld,
                              " times more; ", LinkText(state)));
}

void PortWatch::LookAtQueues(Watched& port, Clock::time_point now,
                             std::vector<std::string>& news) {
  const std::vector<QueueStats> queues = port.monitor->queues();
  for (size_t i = 0; i < queues.size(); ++i) {
    const QueueStats& queue = queues[i];
    Queue& seen = port.queues[i];
    const uint64_t errors =
        queue.errors - std::exchange(seen.errors, queue.errors);
    // That the queues of such a port fail goes without saying.
    if (port.was_gone) continue;
    const auto say = [&](absl::string_view times) {
      news.push_back(absl::StrCat(
          "port ", port.monitor->info().name, ": ", queue.name, " failed",
          times, " (", queue.last_failure, "); ", RepairText(queue)));
    };
    if (errors != 0 && seen.gate.Admit(errors, now)) say(Times(errors));
    const uint64_t withheld = seen.gate.TakeWithheld(now);
    if (withheld != 0) say(absl::StrCat(Times(withheld), " more"));
  }
}

std::vector<std::string> PortWatch::Unsent() const {
  std::vector<std::string> all;
  for (const Watched& port : ports_) {
    for (std::string& line :
         LinesOf(*port.monitor, kUnsentReasons, "frames not sent as ")) {
      all.push_back(std::move(line));
    }
  }
  return all;
}

std::vector<std::string> PortWatch::Missed() const {
  std::vector<std::string> all;
  for (const Watched& port : ports_) {
    for (std::string& line : LinesOf(*port.monitor, kMissedReasons)) {
      all.push_back(std::move(line));
    }
  }
  return all;
}

size_t PortWatch::gone() const {
  return static_cast<size_t>(std::ranges::count_if(
      ports_, [](const Watched& port) { return port.was_gone; }));
}

}  // namespace weir
