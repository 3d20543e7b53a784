// The owner of a piece of mapped memory, so that classes with several of them
// need no destructor of their own.

#ifndef WEIR_HCA_BACKEND_MAPPING_H_
#define WEIR_HCA_BACKEND_MAPPING_H_

#include <sys/mman.h>

#include <cstddef>
#include <span>
#include <utility>

namespace weir::hca {

// Unmaps what it holds. Any thread.
class Mapping {
 public:
  Mapping() = default;
  // `bytes` of the file `fd` from `offset`, a multiple of the page size, shared
  // and writable, touched already. Without memory and errno if that fails.
  static Mapping Shared(int fd, size_t offset, size_t bytes) noexcept {
    Mapping mapping;
    void* const at =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
             fd, static_cast<off_t>(offset));
    if (at != MAP_FAILED) mapping.bytes_ = {static_cast<std::byte*>(at), bytes};
    return mapping;
  }
  // `bytes` of zeros, of this process alone, touched already. Without memory
  // and errno if that fails.
  static Mapping Anonymous(size_t bytes) noexcept {
    Mapping mapping;
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at != MAP_FAILED) mapping.bytes_ = {static_cast<std::byte*>(at), bytes};
    return mapping;
  }
  Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (is_mapped()) munmap(bytes_.data(), bytes_.size());
  }

  bool is_mapped() const noexcept { return bytes_.data() != nullptr; }
  std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_MAPPING_H_
