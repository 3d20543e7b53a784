// One who uses an object that must not be destroyed before.

#ifndef WEIR_HCA_USER_OF_H_
#define WEIR_HCA_USER_OF_H_

namespace weir::hca {

// Counts as a user of an object, if there is one, as long as it lives. `T` has
// Ref and Unref.
template <typename T>
class UserOf {
 public:
  explicit UserOf(T* object) noexcept : object_(object) {
    if (object_ != nullptr) object_->Ref();
  }
  UserOf(const UserOf&) = delete;
  UserOf& operator=(const UserOf&) = delete;
  ~UserOf() {
    if (object_ != nullptr) object_->Unref();
  }

 private:
  T* object_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_USER_OF_H_
