// The real libibverbs below the software HCA: calls about objects that are not
// soft go on to it. It may be missing, and so may any of its functions.

#ifndef WEIR_HCA_ABI_REAL_LIBRARY_H_
#define WEIR_HCA_ABI_REAL_LIBRARY_H_

#include <atomic>
#include <cerrno>
#include <type_traits>

namespace weir::hca {

// The function `name` of version node `version`, or of the only one there is if
// that is null. Null if there is no such function. Any thread.
void* FindRealFunction(const char* name, const char* version) noexcept;

template <typename Signature>
class RealFunction;

// A function of the real library, looked up at the first call and remembered.
// Where it is missing, a call fails with EOPNOTSUPP: in errno, and returned as
// that value or as null; one that returns nothing does nothing else. No lock
// and no allocation of ours, for the real library calls back into us while it
// holds locks of its own. Any thread.
template <typename R, typename... Args>
class RealFunction<R(Args...)> {
 public:
  constexpr RealFunction(const char* name, const char* version)
      : name_(name), version_(version) {}

  R operator()(Args... args) noexcept {
    const Function function = Find();
    if (function != nullptr) return function(args...);
    errno = EOPNOTSUPP;
    if constexpr (std::is_pointer_v<R>) {
      return nullptr;
    } else if constexpr (!std::is_void_v<R>) {
      return static_cast<R>(EOPNOTSUPP);
    }
  }

  bool exists() noexcept { return Find() != nullptr; }

 private:
  using Function = R (*)(Args...);

  Function Find() noexcept {
    Function function = found_;
    if (function == nullptr) {
      function = reinterpret_cast<Function>(FindRealFunction(name_, version_));
      found_ = function;
    }
    return function;
  }

  const char* name_;
  const char* version_;
  std::atomic<Function> found_{nullptr};
};

}  // namespace weir::hca

#endif  // WEIR_HCA_ABI_REAL_LIBRARY_H_
