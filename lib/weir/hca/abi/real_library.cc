#include "weir/hca/abi/real_library.h"

#include <dlfcn.h>

namespace weir::hca {

void* FindRealFunction(const char* name, const char* version) noexcept {
  // Neither RTLD_NEXT, which finds nothing in a program that does not link
  // libibverbs, nor our own soname, which would find ourselves.
  static void* const library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  return version == nullptr ? dlsym(library, name)
                            : dlvsym(library, name, version);
}

}  // namespace weir::hca
