// pcap: frames come from a file that is whole before the device is opened, and
// what is sent goes into another one.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "test/conformance/labs/capture.h"
#include "test/conformance/labs/labs.h"
#include "test/conformance/labs/soft_device.h"

namespace weir::conformance {
namespace {

class PcapLab final : public Lab {
 public:
  PcapLab(std::filesystem::path folder, ibv_device* device)
      : Lab({.name = "pcap",
             .gives =
                 kArrivals | kInject | kObserve | kHolds | kStrict | kRunts,
             .why_not =
                 [](Need need) {
                   if (need == kDrops) return "a file waits";
                   if (need == kLink) return "a file has no link";
                   return "the file is whole before it is opened";
                 },
             .pinned = true,
             .capabilities = kSoftCapabilities,
             .not_applicable = 11,
             .max_frame_bytes = 9216 + 14}),
        folder_(std::move(folder)),
        device_(device) {}
  ~PcapLab() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  ibv_device* device() override { return device_; }

  void Begin() override {
    Lab::Begin();
    EXPECT_TRUE(WriteCapture(folder_ / "in.pcap", {}));
  }
  void Prepare(const std::vector<Bytes>& frames) override {
    EXPECT_TRUE(WriteCapture(folder_ / "in.pcap", frames));
  }
  void Deliver() override {}
  void Inject(const Bytes&) override {
    ADD_FAILURE() << facts().why_not(kLive);
  }
  void Collect() override { sent_ = ReadCapture(folder_ / "out.pcap"); }

 private:
  std::filesystem::path folder_;
  ibv_device* device_;
};

}  // namespace

std::unique_ptr<Lab> MakePcapLab(std::string& error) {
  const char* const place = std::getenv("TEST_TMPDIR");
  std::string folder =
      std::string(place == nullptr ? "/tmp" : place) + "/conformance-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    error = folder + ": cannot be made";
    return nullptr;
  }
  ibv_device* const device = AddSoftDevice(
      "pcap:" + folder + "/in.pcap,out=" + folder + "/out.pcap", error);
  if (device == nullptr) return nullptr;
  return std::make_unique<PcapLab>(folder, device);
}

}  // namespace weir::conformance
