#include "test/support/fiber.h"

#include <cstdint>
#include <utility>

// Of ThreadSanitizer (sanitizer/tsan_interface.h); null where it is not there.
extern "C" {
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_destroy_fiber(void* fiber);
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}

namespace weir::testing {
namespace {

constexpr size_t kStackBytes = 64 * 1024;
constexpr unsigned kHalf = 32;

void TellTsan(void* next) {
  if (next != nullptr) __tsan_switch_to_fiber(next, 0);
}

}  // namespace

Fiber::Fiber()
    : stack_(std::make_unique_for_overwrite<std::byte[]>(kStackBytes)) {
  getcontext(&inside_);
  inside_.uc_stack.ss_sp = stack_.get();
  inside_.uc_stack.ss_size = kStackBytes;
  inside_.uc_link = nullptr;
  // makecontext takes functions of ints alone.
  const auto self = reinterpret_cast<uintptr_t>(this);
  makecontext(&inside_, reinterpret_cast<void (*)()>(&Fiber::Enter), 2,
              static_cast<unsigned>(self >> kHalf),
              static_cast<unsigned>(self));
  if (__tsan_create_fiber != nullptr) tsan_inside_ = __tsan_create_fiber(0);
}

Fiber::~Fiber() {
  if (tsan_inside_ != nullptr) __tsan_destroy_fiber(tsan_inside_);
}

void Fiber::Enter(unsigned high, unsigned low) {
  auto& self =
      *reinterpret_cast<Fiber*>(uintptr_t{high} << kHalf | uintptr_t{low});
  for (;;) {
    self.function_();
    self.done_ = true;
    self.Leave();
  }
}

void Fiber::Start(std::function<void()> function) {
  function_ = std::move(function);
  done_ = false;
}

void Fiber::Resume() {
  if (tsan_inside_ != nullptr) tsan_outside_ = __tsan_get_current_fiber();
  TellTsan(tsan_inside_);
  swapcontext(&outside_, &inside_);
}

void Fiber::Leave() {
  TellTsan(tsan_outside_);
  swapcontext(&inside_, &outside_);
}

}  // namespace weir::testing
