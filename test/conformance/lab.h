// A lab: a device under test and the world around it. Checks know the device
// through verbs and the world through this interface only.

#ifndef WEIR_TEST_CONFORMANCE_LAB_H_
#define WEIR_TEST_CONFORMANCE_LAB_H_

#include <infiniband/verbs.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "test/conformance/check.h"
#include "test/support/frame.h"

namespace weir::conformance {

// How long anything that has to happen may take. Passed only by failures.
inline constexpr std::chrono::seconds kPatience{5};

// What a lab is and what it can do.
struct LabFacts {
  // "wire", "mlx5_0".
  std::string name;
  // Of Need: what the surroundings give.
  uint32_t gives = 0;
  // Why they do not give the rest, for people: "it makes its own frames".
  std::function<std::string(Need)> why_not;
  // Of Need: the capabilities that the device must have. Soft devices only:
  // nobody knows what a NIC has before it was asked.
  bool pinned = false;
  uint32_t capabilities = 0;
  // How many checks are n/a: one that becomes n/a unseen is as good as gone.
  size_t not_applicable = 0;
  // The destination of the frames that arrive without being chosen.
  net::MacAddress arrivals_to = kTestMacB;
  // The longest frame that the medium carries.
  uint32_t max_frame_bytes = 1514;
};

class Lab {
 public:
  explicit Lab(LabFacts facts) : facts_(std::move(facts)) {}
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;
  virtual ~Lab() = default;

  const LabFacts& facts() const { return facts_; }

  // The device under test; null, after a failure, if it is not there.
  virtual ibv_device* device() = 0;

  // Around each check: the world as new, then gone. Nothing that was sent or
  // prepared before is seen afterwards.
  virtual void Begin() { sent_.clear(); }
  virtual void End() {}

  // The frames that will arrive, told before the device is opened for the
  // first time; Deliver sets them off.
  virtual void Prepare(const std::vector<Bytes>& frames) = 0;
  virtual void Deliver() = 0;
  // One more frame, at once. Only where kLive is given.
  virtual void Inject(const Bytes& frame) = 0;

  // Cuts the link, or mends it; End does so too. Only where kLink is given.
  virtual void SetLink(bool up);

  // Takes in what the device has sent by now, without waiting.
  virtual void Collect() = 0;
  // All that it has sent, in order, once it is `count` frames or kPatience is
  // over.
  const std::vector<Bytes>& Observe(size_t count);

 protected:
  std::vector<Bytes> sent_;

 private:
  LabFacts facts_;
};

// What ibv_get_device_list returns, as long as devices from it are used.
class DeviceList {
 public:
  DeviceList();
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;
  ~DeviceList();

  // Null if there is none of that name.
  ibv_device* Find(const std::string& name) const;
  // "mlx5_0, mlx5_1".
  std::string names() const;
  size_t size() const { return static_cast<size_t>(count_); }
  ibv_device* at(size_t index) const { return list_[index]; }

 private:
  int count_ = 0;
  ibv_device** list_;
};

// Opens `device`; null after a failure of the test that says why not.
ibv_context* OpenDevice(ibv_device* device);

}  // namespace weir::conformance

#endif  // WEIR_TEST_CONFORMANCE_LAB_H_
