// How a creating verb says no.

#ifndef WEIR_HCA_REFUSE_H_
#define WEIR_HCA_REFUSE_H_

#include <cerrno>

namespace weir::hca {

// Null, with errno set.
template <typename T>
T* Refuse(int error) {
  errno = error;
  return nullptr;
}

}  // namespace weir::hca

#endif  // WEIR_HCA_REFUSE_H_
