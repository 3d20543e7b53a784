// The part of the stand-in that does something.

#include "test/hca/standin/standin.h"

#include <infiniband/verbs.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#undef ibv_get_device_list

namespace {

struct State {
  std::vector<StandinCall> calls;
  uint64_t result = 0;
  int lists = 0;
  ibv_device device{};
  // As in real libraries: the public context is the end of a larger one.
  verbs_context context{};
};

State& Get() {
  static State state;
  return state;
}

uint64_t Bits(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

}  // namespace

extern "C" {

uint64_t standin_record(const char* name, uint64_t a, uint64_t b, uint64_t c,
                        uint64_t d, uint64_t e, uint64_t f) {
  Get().calls.push_back({name, {a, b, c, d, e, f}});
  return Get().result;
}

void standin_set_result(uint64_t result) { Get().result = result; }

const StandinCall* standin_call(unsigned index) {
  return index < Get().calls.size() ? &Get().calls[index] : nullptr;
}

void standin_forget() { Get().calls.clear(); }

int standin_lists() { return Get().lists; }

ibv_device** ibv_get_device_list(int* count) {
  State& state = Get();
  std::strcpy(state.device.name, "real0");
  auto** list = static_cast<ibv_device**>(std::calloc(2, sizeof(ibv_device*)));
  list[0] = &state.device;
  if (count != nullptr) *count = 1;
  ++state.lists;
  return list;
}

void ibv_free_device_list(ibv_device** list) {
  --Get().lists;
  std::free(list);
}

// Calls another function of the library, as providers do: by the PLT, where
// that of a preloaded library comes first. Also records which one that is.
ibv_context* ibv_open_device(ibv_device* device) {
  State& state = Get();
  standin_record("ibv_open_device", Bits(device),
                 reinterpret_cast<uint64_t>(&ibv_alloc_pd), 0, 0, 0, 0);
  state.context.context.device = device;
  state.context.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  state.context.sz = sizeof(verbs_context);
  ibv_alloc_pd(&state.context.context);
  return &state.context.context;
}

}  // extern "C"
