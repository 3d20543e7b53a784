// An open soft device for fuzz targets, through the public API and without a
// test framework. Made once and used by every input: a target has to leave it
// as it was.

#ifndef WEIR_TEST_FUZZ_FUZZ_DEVICE_H_
#define WEIR_TEST_FUZZ_FUZZ_DEVICE_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::fuzz {

// The key of a wire that no other process has: "wire:x_1234".
std::string FuzzWire(const char* name);

// A context with a PD, a CQ and registered memory. Whatever cannot be made ends
// the process.
class FuzzDevice {
 public:
  static constexpr size_t kBufferBytes = 2048;
  static constexpr size_t kBuffers = 64;

  // `key` as for the environment: "wire:x".
  explicit FuzzDevice(const char* key);
  FuzzDevice(const FuzzDevice&) = delete;
  FuzzDevice& operator=(const FuzzDevice&) = delete;
  ~FuzzDevice();

  // A queue pair in RTS on the CQ, for `max_sge` SGEs each way and so many
  // bytes inline; belongs to the device.
  ibv_qp* AddQueuePair(uint32_t max_sge = 1, uint32_t max_inline_bytes = 0);

  // One receive of a whole buffer, numbered `index`.
  void PostReceive(ibv_qp* qp, size_t index);
  // Sends `bytes`, kBufferBytes at most, and waits until they are sent.
  void Send(ibv_qp* qp, std::span<const uint8_t> bytes);
  // All completions that are there now.
  std::vector<ibv_wc> Drain();
  // The device counter of that name.
  uint64_t Counter(const char* name);

  ibv_context* context;
  ibv_pd* pd;
  ibv_cq* cq;
  ibv_mr* mr;

 private:
  ibv_sge Sge(size_t index, uint32_t bytes) const;

  std::vector<std::byte> memory_;
  std::vector<ibv_qp*> qps_;
};

}  // namespace weir::fuzz

#endif  // WEIR_TEST_FUZZ_FUZZ_DEVICE_H_
