// Objects of the verbs API as base classes: the application holds a pointer to
// the public part, the HCA casts it back to the whole.

#ifndef WEIR_HCA_PUBLIC_OBJECT_H_
#define WEIR_HCA_PUBLIC_OBJECT_H_

#include <array>
#include <cstddef>

namespace weir::hca {

// Behind the public struct of a real provider lies its private one, and
// libraries such as libmlx5 read a little of it on any device they meet. They
// find zeros here. Also room for what later headers append to the struct.
inline constexpr size_t kSlackBytes = 512;

// The public struct `T`, zeroed, with zeroed slack behind it.
template <typename T>
struct PublicObject : T {
  PublicObject() : T{} {}

  std::array<std::byte, kSlackBytes> slack{};
};

}  // namespace weir::hca

#endif  // WEIR_HCA_PUBLIC_OBJECT_H_
