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

// A new object, null if there is no memory for it or for what it allocates: the
// one place with a catch, because no exception may pass the C entry points.
template <typename T, typename... Arguments>
T* TryNew(Arguments&&... arguments) {
  try {
    return new T(std::forward<Arguments>(arguments)...);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace weir::hca

#endif  // WEIR_HCA_REFUSE_H_
