#include "weir/runtime/runtime.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "weir/base/check.h"
#include "weir/base/errno_status.h"

namespace weir {

absl::StatusOr<std::unique_ptr<Runtime>> Runtime::Create(Placer placer,
                                                         MbufPool& pool,
                                                         WhenIdle when_idle) {
  Check(pool.caches() >= placer.lcores().size(),
        "the mbuf pool has a cache for each lcore");
  const int done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (done_fd < 0) {
    return ErrnoStatus(errno, {.object = "runtime",
                               .call = "eventfd",
                               .remedy = "raise the limit of open files"});
  }
  return std::unique_ptr<Runtime>(
      new Runtime(std::move(placer), pool, when_idle, done_fd));
}

Runtime::~Runtime() {
  Stop();
  workers_.clear();
  close(done_fd_);
}

uint32_t Runtime::Place(const Placement& placement,
                        std::unique_ptr<Task> task) {
  const uint32_t lcore = placer_.Next(placement.near);
  auto found = std::ranges::find_if(workers_, [lcore](const auto& worker) {
    return worker->lcore() == lcore;
  });
  if (found == workers_.end()) {
    MbufCache& cache = pool_->cache(static_cast<uint32_t>(workers_.size()));
    workers_.push_back(
        std::make_unique<Worker>(lcore, cache, done_fd_, when_idle_));
    found = workers_.end() - 1;
  }
  (*found)->Add(std::move(task));
  return lcore;
}

std::vector<LcorePlan> Runtime::plan() const {
  std::vector<LcorePlan> all;
  for (const auto& worker : workers_) {
    const auto place =
        std::ranges::find(placer_.lcores(), worker->lcore(), &LcoreInfo::id);
    all.push_back({*place, worker->Snapshot().pipelines});
  }
  return all;
}

absl::Status Runtime::Start() {
  for (const auto& worker : workers_) {
    absl::Status started = worker->Start();
    if (!started.ok()) {
      Stop();
      return started;
    }
  }
  return absl::OkStatus();
}

bool Runtime::done() const {
  return std::ranges::all_of(workers_,
                             [](const auto& worker) { return worker->done(); });
}

void Runtime::Stop() {
  for (const auto& worker : workers_) worker->RequestStop();
  for (const auto& worker : workers_) worker->Join();
  for (const auto& worker : workers_) worker->AbandonRest();
}

std::vector<TapPlace> Runtime::taps() const {
  std::vector<TapPlace> all;
  for (const auto& worker : workers_) {
    for (TapPlace& place : worker->taps()) all.push_back(std::move(place));
  }
  return all;
}

RuntimeSnapshot Runtime::Snapshot() const {
  RuntimeSnapshot all;
  for (const auto& worker : workers_) all.push_back(worker->Snapshot());
  return all;
}

}  // namespace weir
