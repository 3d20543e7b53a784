// How creating verbs say no.

#ifndef WEIR_HCA_REFUSE_H_
#define WEIR_HCA_REFUSE_H_

#include <cerrno>
#include <new>
#include <utility>

namespace weir::hca {

// Null, with errno set.
template <typename T>
T* Refuse(int error) {
  errno = error;
  return nullptr;
}

// What `make` returns, or `otherwise` if there was no memory for it: the one
// place with a catch, because no exception may pass the C entry points.
template <typename T, typename Make>
T IfMemory(Make&& make, T otherwise) {
  try {
    return std::forward<Make>(make)();
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return otherwise;
  }
}

// A new object, null and ENOMEM if there is no memory for it or for what it
// allocates.
template <typename T, typename... Arguments>
T* TryNew(Arguments&&... arguments) {
  return IfMemory<T*>(
      [&] { return new T(std::forward<Arguments>(arguments)...); }, nullptr);
}

}  // namespace weir::hca

#endif  // WEIR_HCA_REFUSE_H_
