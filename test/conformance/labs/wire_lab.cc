// wire: another verbs device at the other end. "wire-lossy" is one without flow
// control, as NICs are.

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "test/conformance/labs/labs.h"
#include "test/conformance/labs/soft_device.h"
#include "test/conformance/labs/verbs_peer.h"

namespace weir::conformance {
namespace {

class WireLab final : public Lab {
 public:
  WireLab(LabFacts facts, ibv_device* device, ibv_device* other)
      : Lab(std::move(facts)),
        device_(device),
        other_(other),
        peer_(VerbsPeer::Sees::kEverything) {}

  ibv_device* device() override { return device_; }

  void Begin() override {
    Lab::Begin();
    prepared_.clear();
    EXPECT_EQ(peer_.Open(other_), "");
  }
  void End() override { peer_.Close(); }

  void Prepare(const std::vector<Bytes>& frames) override {
    prepared_ = frames;
  }
  void Deliver() override {
    for (const Bytes& frame : std::exchange(prepared_, {})) peer_.Send(frame);
  }
  void Inject(const Bytes& frame) override { peer_.Send(frame); }
  void Collect() override { peer_.Collect(sent_); }

 private:
  ibv_device* device_;
  ibv_device* other_;
  VerbsPeer peer_;
  std::vector<Bytes> prepared_;
};

}  // namespace

std::unique_ptr<Lab> MakeWireLab(const std::string& name, std::string& error) {
  const bool lossy = name == "wire-lossy";
  const std::string key =
      "wire:conformance-" + name + "-" + std::to_string(getpid());
  ibv_device* const device =
      AddSoftDevice(key + (lossy ? ",flow_control=off" : ""), error);
  ibv_device* const other = AddSoftDevice(key, error);
  if (device == nullptr || other == nullptr) return nullptr;
  LabFacts facts = {.name = name,
                    .gives = kArrivals | kInject | kLive | kObserve | kStrict |
                             kRunts | (lossy ? kDrops : kHolds),
                    .why_not =
                        [lossy](Need need) {
                          if (need == kLink) return "the wire is never cut";

                          return lossy ? "there is no flow control"
                                       : "flow control is on";
                        },
                    .pinned = true,
                    .capabilities = kSoftCapabilities,
                    .not_applicable = 5};
  return std::make_unique<WireLab>(std::move(facts), device, other);
}

}  // namespace weir::conformance
