// Reading enums that a program hands over. C lets it put any number there, and
// C++ does not let us look at a number that the type cannot hold.

#ifndef WEIR_HCA_RAW_ENUM_H_
#define WEIR_HCA_RAW_ENUM_H_

#include <cstring>
#include <type_traits>

namespace weir::hca {

// The number that `value` holds, whether the type has it or not. Any thread.
template <typename Enum>
requires std::is_enum_v<Enum>
inline std::underlying_type_t<Enum> RawEnum(const Enum& value) noexcept {
  std::underlying_type_t<Enum> number;
  std::memcpy(&number, &value, sizeof(number));
  return number;
}

}  // namespace weir::hca

#endif  // WEIR_HCA_RAW_ENUM_H_
