// null: frames of its own without end, and what is sent is gone.

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "test/conformance/labs/labs.h"
#include "test/conformance/labs/soft_device.h"

namespace weir::conformance {
namespace {

std::string WhyNot(Need need) {
  switch (need) {
    case kObserve:
      return "what is sent to null is swallowed";
    case kDrops:
      return "null makes frames as they are wanted";
    case kHolds:
      return "null's frames are all the same";
    case kLink:
      return "null has no link";
    default:
      return "null makes frames of its own";
  }
}

class NullLab final : public Lab {
 public:
  explicit NullLab(ibv_device* device)
      : Lab({.name = "null",
             .gives = kArrivals | kStrict | kRunts,
             .why_not = WhyNot,
             .pinned = true,
             .capabilities = kSoftCapabilities,
             .not_applicable = 147,
             // The destination of null's template.
             .arrivals_to = net::MacAddress{{2, 0, 0, 0, 0, 2}}}),
        device_(device) {}

  ibv_device* device() override { return device_; }
  // Checks that send frames this way are not made here.
  void Prepare(const std::vector<Bytes>& frames) override {
    EXPECT_TRUE(frames.empty()) << WhyNot(kInject);
  }
  void Deliver() override {}
  void Inject(const Bytes&) override { ADD_FAILURE() << WhyNot(kLive); }
  void Collect() override {}

 private:
  ibv_device* device_;
};

}  // namespace

std::unique_ptr<Lab> MakeNullLab(std::string& error) {
  ibv_device* const device = AddSoftDevice("null:", error);
  return device == nullptr ? nullptr : std::make_unique<NullLab>(device);
}

}  // namespace weir::conformance
