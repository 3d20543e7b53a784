// Functions that run on a stack of their own, one after the other, and can be
// left and resumed, all on one thread.

#ifndef WEIR_TEST_SUPPORT_FIBER_H_
#define WEIR_TEST_SUPPORT_FIBER_H_

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace weir::testing {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // No function runs here, and Start may be called.
  bool done() const noexcept { return done_; }

  // Resume will begin `function`.
  void Start(std::function<void()> function);
  // Goes on in the function until that calls Leave or ends. Not from inside.
  void Resume();
  // From inside: back to whoever called Resume.
  void Leave();

 private:
  static void Enter(unsigned high, unsigned low);

  std::function<void()> function_;
  std::unique_ptr<std::byte[]> stack_;
  ucontext_t inside_;
  ucontext_t outside_;
  // What ThreadSanitizer knows the two by, where it is there.
  void* tsan_inside_ = nullptr;
  void* tsan_outside_ = nullptr;
  bool done_ = true;
};

}  // namespace weir::testing

#endif  // WEIR_TEST_SUPPORT_FIBER_H_
