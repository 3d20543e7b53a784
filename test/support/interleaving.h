// All interleavings of a few threads over atomics, one after the other: the
// real code runs with ModelAtomic (model_atomic.h) in the place of std::atomic,
// on fibers of one thread, and at every atomic operation it is open which
// thread goes on. What a load may read is open too: any value that the memory
// model of C++ allows, as each thread and each store has a view of what it is
// sure to have seen (the views of J. Kang et al., "A promising semantics for
// relaxed-memory concurrency", without promises: no load reads what a later
// instruction of its own thread leads to).
//
// Explore runs its body again and again, each time along another way, until
// there is none left. Ways that lead to one state are followed once from there:
// a state is what each thread has read so far and, for each atomic, the order
// of its stores, as a hash of 64 bits.

#ifndef WEIR_TEST_SUPPORT_INTERLEAVING_H_
#define WEIR_TEST_SUPPORT_INTERLEAVING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

namespace weir::testing {

// Of each atomic, by its number, the oldest store that may still be read.
class View {
 public:
  uint32_t at(size_t place) const noexcept {
    return place < seen_.size() ? seen_[place] : 0;
  }
  void Raise(size_t place, uint32_t store);
  void Join(const View& other);

 private:
  std::vector<uint32_t> seen_;
};

// What Explore found.
struct Explored {
  // Ways that were followed, and states they led through.
  uint64_t runs = 0;
  uint64_t states = 0;
  // The first thing that went wrong, and the threads in the order of their
  // steps; empty if nothing did.
  std::string failure;
};

class Fiber;

// One run. Its threads are numbered from 1 in the order of Spawn; 0 is the body
// itself, before Run and after.
class Interleaving {
 public:
  // The run that this thread is in, for atomics, which are made by code that
  // knows nothing of all this. There is one.
  static Interleaving& current() noexcept;

  Interleaving();
  ~Interleaving();
  Interleaving(const Interleaving&) = delete;
  Interleaving& operator=(const Interleaving&) = delete;

  // Adds a thread. Body only, before Run.
  void Spawn(std::function<void()> thread);
  // Runs all threads to their ends. Body only.
  void Run();
  // Notes that something is wrong, and follows this way no further.
  void Fail(const std::string& what);
  void Expect(bool condition, const std::string& what) {
    if (!condition) Fail(what);
  }
  // The calling thread goes on only once `condition` holds. If no thread can
  // go on, that is a failure.
  void Await(std::function<bool()> condition);

  // A fence that every other thread is made to execute, one after the other,
  // wherever it is, and that this one executes with each (membarrier).
  void FenceAll();

  // The rest is for atomics.
  size_t thread() const noexcept { return running_; }
  View& view() noexcept { return *views_[running_]; }
  // Before an operation: others may come first.
  void Step();
  // One of `count` possibilities, which the calling thread sees.
  size_t Choose(size_t count);
  // The number of a new atomic.
  size_t NewPlace();
  // The calling thread stored to `place`; the name of that store.
  uint64_t Stored(size_t place);
  // The calling thread read the store of that name.
  void Saw(size_t place, uint64_t store);
  // What operations that are sequentially consistent agree to have seen.
  const View& total_view() const noexcept { return total_view_; }
  void RaiseTotal(size_t place, uint32_t store);

 private:
  friend Explored Explore(const std::function<void(Interleaving&)>& body);
  struct Choice {
    size_t taken;
    size_t count;
  };

  void Begin();
  bool Next();
  size_t Pick(size_t count);
  bool IsNewState();
  void Resume(size_t thread);
  void LearnFrom(size_t thread, const View& view);

  // Of earlier runs.
  std::vector<std::unique_ptr<Fiber>> idle_;
  std::vector<Choice> way_;
  size_t depth_ = 0;
  std::unordered_set<uint64_t> known_;
  // Nothing is left to find out on this way.
  bool is_through_ = false;
  uint32_t turn_ = 0;
  std::string failure_;
  // Of the run: the threads, then the stores of each place.
  size_t running_ = 0;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<std::function<bool()>> conditions_;
  std::vector<std::unique_ptr<View>> views_;
  std::vector<uint64_t> seen_;
  std::vector<uint32_t> steps_;
  std::vector<uint64_t> orders_;
  View total_view_;
  std::string trace_;
};

// Runs `body` along every way, or up to the first failure. It has to do the
// same each time as long as atomics give the same, and to call Run once.
Explored Explore(const std::function<void(Interleaving&)>& body);

}  // namespace weir::testing

#endif  // WEIR_TEST_SUPPORT_INTERLEAVING_H_
