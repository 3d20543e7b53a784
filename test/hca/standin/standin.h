// A stand-in for libibverbs.so.1: one device, and functions that record how
// they were called. The tests find these by name in the library that is loaded.

#ifndef WEIR_TEST_HCA_STANDIN_STANDIN_H_
#define WEIR_TEST_HCA_STANDIN_STANDIN_H_

#include <cstdint>

// A call of a function: its name and what was in the registers of arguments.
struct StandinCall {
  const char* name;
  uint64_t arguments[6];
};

extern "C" {

// Appends to the calls; returns what standin_set_result set.
uint64_t standin_record(const char* name, uint64_t a, uint64_t b, uint64_t c,
                        uint64_t d, uint64_t e, uint64_t f);
void standin_set_result(uint64_t result);

// Call `index` since the last standin_forget, null past the last.
const StandinCall* standin_call(unsigned index);
void standin_forget();

// Device lists that are not freed.
int standin_lists();

}  // extern "C"

#endif  // WEIR_TEST_HCA_STANDIN_STANDIN_H_
