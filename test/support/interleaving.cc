#include "test/support/interleaving.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "test/support/fiber.h"

namespace weir::testing {
namespace {

// Steps of a thread after which it is taken for one that never ends.
constexpr uint32_t kMaxSteps = 2000;

// The run that is being made. Atomics find it here, for the code that makes
// them cannot be asked to hand it on.
Interleaving*& Current() noexcept {
  static Interleaving* current = nullptr;
  return current;
}

// Spreads the bits of `value` (the finalizer of D. Stafford's "mix 13").
uint64_t Mix(uint64_t value) noexcept {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}
uint64_t Mix(uint64_t a, uint64_t b) noexcept {
  return Mix(a + 0x9e3779b97f4a7c15 * (b + 1));
}

}  // namespace

void View::Raise(size_t place, uint32_t store) {
  if (place >= seen_.size()) seen_.resize(place + 1);
  seen_[place] = std::max(seen_[place], store);
}

void View::Join(const View& other) {
  if (other.seen_.size() > seen_.size()) seen_.resize(other.seen_.size());
  for (size_t i = 0; i < other.seen_.size(); ++i) {
    seen_[i] = std::max(seen_[i], other.seen_[i]);
  }
}

Interleaving::Interleaving() { Current() = this; }
Interleaving::~Interleaving() { Current() = nullptr; }

Interleaving& Interleaving::current() noexcept {
  if (Current() == nullptr) std::abort();
  return *Current();
}

void Interleaving::Spawn(std::function<void()> thread) {
  if (idle_.empty()) idle_.push_back(std::make_unique<Fiber>());
  fibers_.push_back(std::move(idle_.back()));
  idle_.pop_back();
  fibers_.back()->Start(std::move(thread));
  views_.push_back(std::make_unique<View>());
  conditions_.emplace_back();
  seen_.push_back(fibers_.size());
  steps_.push_back(0);
}

void Interleaving::Begin() {
  depth_ = 0;
  is_through_ = false;
  running_ = 0;
  // One that could not go on is of no more use.
  for (std::unique_ptr<Fiber>& fiber : fibers_) {
    if (fiber->done()) idle_.push_back(std::move(fiber));
  }
  fibers_.clear();
  conditions_.clear();
  views_.clear();
  views_.push_back(std::make_unique<View>());
  seen_.assign(1, 0);
  steps_.assign(1, 0);
  orders_.clear();
  total_view_ = View();
  trace_.clear();
}

// Turns to the next way; false if there is none.
bool Interleaving::Next() {
  while (!way_.empty() && way_.back().taken + 1 == way_.back().count) {
    way_.pop_back();
  }
  if (way_.empty()) return false;
  ++way_.back().taken;
  return true;
}

size_t Interleaving::Pick(size_t count) {
  if (count < 2 || is_through_) return 0;
  if (depth_ == way_.size()) way_.push_back({0, count});
  return way_[depth_++].taken;
}

// Where the way is new: whether no way led here before.
bool Interleaving::IsNewState() {
  if (is_through_ || depth_ < way_.size()) return true;
  uint64_t state = 0;
  for (size_t i = 0; i < seen_.size(); ++i) state = Mix(state, seen_[i]);
  for (const uint64_t order : orders_) state = Mix(state, order);
  return known_.insert(state).second;
}

void Interleaving::Resume(size_t thread) {
  running_ = thread;
  fibers_[thread - 1]->Resume();
  running_ = 0;
}

void Interleaving::Run() {
  // All that the body did comes before. Up to their first steps threads are
  // alone, whatever their order.
  for (size_t i = 1; i <= fibers_.size(); ++i) {
    views_[i]->Join(*views_[0]);
    Resume(i);
  }
  std::vector<size_t> ready;
  for (;;) {
    ready.clear();
    bool all_done = true;
    for (size_t i = 1; i <= fibers_.size(); ++i) {
      if (fibers_[i - 1]->done()) continue;
      all_done = false;
      if (!conditions_[i - 1] || conditions_[i - 1]()) ready.push_back(i);
    }
    if (all_done) break;
    if (ready.empty()) {
      Fail("no thread can go on");
      break;
    }
    if (!IsNewState()) is_through_ = true;
    // The turns of what is only run to its end.
    const size_t next =
        is_through_ ? ready[turn_++ % ready.size()] : ready[Pick(ready.size())];
    trace_ += static_cast<char>('0' + next);
    if (++steps_[next] > kMaxSteps) {
      Fail("a thread never ends");
      break;
    }
    conditions_[next - 1] = nullptr;
    Resume(next);
  }
  for (size_t i = 1; i <= fibers_.size(); ++i) views_[0]->Join(*views_[i]);
}

void Interleaving::Fail(const std::string& what) {
  if (!failure_.empty()) return;
  failure_ = what + ", after steps of threads " + trace_;
  is_through_ = true;
}

void Interleaving::Await(std::function<bool()> condition) {
  conditions_[running_ - 1] = std::move(condition);
  fibers_[running_ - 1]->Leave();
  // To have gone on is to have seen that it holds.
  seen_[running_] = Mix(seen_[running_], 0);
}

// Whose stores those are follows from their order, which is part of the state.
void Interleaving::LearnFrom(size_t thread, const View& view) {
  for (size_t place = 0; place < orders_.size(); ++place) {
    if (view.at(place) <= views_[thread]->at(place)) continue;
    views_[thread]->Raise(place, view.at(place));
    seen_[thread] = Mix(seen_[thread], Mix(place, view.at(place)));
  }
}

void Interleaving::FenceAll() {
  const size_t me = running_;
  for (size_t other = 1; other < views_.size(); ++other) {
    if (other == me) continue;
    Step();
    const View mine = *views_[me];
    LearnFrom(me, *views_[other]);
    LearnFrom(other, mine);
  }
}

void Interleaving::RaiseTotal(size_t place, uint32_t store) {
  if (store <= total_view_.at(place)) return;
  total_view_.Raise(place, store);
  orders_[place] = Mix(orders_[place], store);
}

void Interleaving::Step() {
  if (running_ != 0) fibers_[running_ - 1]->Leave();
}

size_t Interleaving::Choose(size_t count) {
  if (running_ == 0) return 0;
  return Pick(count);
}

size_t Interleaving::NewPlace() {
  orders_.push_back(0);
  return orders_.size() - 1;
}

uint64_t Interleaving::Stored(size_t place) {
  // What a thread stores follows from what it has seen.
  const uint64_t name = Mix(seen_[running_], Mix(place, running_));
  seen_[running_] = Mix(seen_[running_], place);
  orders_[place] = Mix(orders_[place], name);
  return name;
}

void Interleaving::Saw(size_t place, uint64_t store) {
  seen_[running_] = Mix(seen_[running_], Mix(place, store));
}

Explored Explore(const std::function<void(Interleaving&)>& body) {
  Interleaving run;
  Explored explored;
  do {
    run.Begin();
    body(run);
    ++explored.runs;
  } while (run.failure_.empty() && run.Next());
  explored.states = run.known_.size();
  explored.failure = run.failure_;
  return explored;
}

}  // namespace weir::testing
