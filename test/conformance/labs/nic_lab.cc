// A device of the machine. With another one on its cable, or with its own
// loopback between contexts, frames are sent to it and seen of it.

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "test/conformance/labs/labs.h"
#include "test/conformance/labs/soft_device.h"
#include "test/conformance/labs/verbs_peer.h"

namespace weir::conformance {
namespace {

std::string WhyNot(Need need) {
  if (need == kStrict) return "the API leaves it to the device";
  if (need == kHolds) return "a NIC drops";
  if (need == kRunts) return "a NIC pads";
  if (need == kLink) return "nobody here can cut it";
  return "neither --peer nor --loopback";
}

class NicLab final : public Lab {
 public:
  NicLab(LabFacts facts, std::unique_ptr<DeviceList> devices,
         ibv_device* device, ibv_device* peer)
      : Lab(std::move(facts)),
        devices_(std::move(devices)),
        device_(device),
        peer_device_(peer),
        peer_(VerbsPeer::Sees::kTestAddresses) {}

  ibv_device* device() override { return device_; }

  void Begin() override {
    Lab::Begin();
    prepared_.clear();
    if (peer_device_ == nullptr) return;
    EXPECT_EQ(peer_.Open(peer_device_), "");
  }
  void End() override { peer_.Close(); }

  void Prepare(const std::vector<Bytes>& frames) override {
    prepared_ = frames;
  }
  void Deliver() override {
    for (const Bytes& frame : std::exchange(prepared_, {})) peer_.Send(frame);
  }
  void Inject(const Bytes& frame) override { peer_.Send(frame); }
  void Collect() override {
    if (peer_device_ != nullptr) peer_.Collect(sent_);
  }

 private:
  std::unique_ptr<DeviceList> devices_;
  ibv_device* device_;
  ibv_device* peer_device_;
  VerbsPeer peer_;
  std::vector<Bytes> prepared_;
};

ibv_device* Named(const DeviceList& devices, const std::string& name,
                  std::string& error) {
  ibv_device* const device = devices.Find(name);
  if (device == nullptr) {
    error = name + ": no such verbs device; found " + devices.names();
  }
  return device;
}

}  // namespace

std::unique_ptr<Lab> MakeNicLab(const NicOptions& options, std::string& error) {
  auto devices = std::make_unique<DeviceList>();
  ibv_device* const device = Named(*devices, options.device, error);
  if (device == nullptr) return nullptr;
  ibv_device* peer = options.loopback ? device : nullptr;
  if (!options.peer.empty()) {
    peer = Named(*devices, options.peer, error);
    if (peer == nullptr) return nullptr;
  }
  LabFacts facts = {.name = options.device,
                    .gives = peer == nullptr ? 0u
                                             : kArrivals | kInject | kLive |
                                                   kObserve | kDrops,
                    .why_not = WhyNot};
  return std::make_unique<NicLab>(std::move(facts), std::move(devices), device,
                                  peer);
}

}  // namespace weir::conformance
