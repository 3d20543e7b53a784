// packet, xdp: one end of a veth pair is the device, a packet socket is at the
// other. tap: the packet socket is on the netdev itself.

#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "test/conformance/labs/frame_socket.h"
#include "test/conformance/labs/labs.h"
#include "test/conformance/labs/soft_device.h"

namespace weir::conformance {
namespace {

class NetdevLab final : public Lab {
 public:
  NetdevLab(LabFacts facts, ibv_device* device, std::string outside)
      : Lab(std::move(facts)), device_(device), outside_(std::move(outside)) {}

  ibv_device* device() override { return device_; }

  void Begin() override {
    Lab::Begin();
    prepared_.clear();
    EXPECT_EQ(socket_.Open(outside_), "");
  }
  void End() override {
    if (!link_up_) SetLink(true);
    socket_.Close();
  }

  void Prepare(const std::vector<Bytes>& frames) override {
    prepared_ = frames;
  }
  void Deliver() override {
    for (const Bytes& frame : std::exchange(prepared_, {})) {
      socket_.Send(frame);
    }
  }
  void Inject(const Bytes& frame) override { socket_.Send(frame); }
  void SetLink(bool up) override {
    EXPECT_EQ(RunCommand("ip link set " + outside_ + (up ? " up" : " down")),
              "");
    link_up_ = up;
  }
  void Collect() override {
    while (auto frame = socket_.Receive()) sent_.push_back(*std::move(frame));
  }

 private:
  ibv_device* device_;
  std::string outside_;
  FrameSocket socket_;
  std::vector<Bytes> prepared_;
  bool link_up_ = true;
};

// No address and no autoconfiguration: the kernel sends nothing unasked.
std::string Up(const std::string& netdev) {
  return " && ip link set " + netdev + " addrgenmode none up";
}

std::string MakeVeth(const std::string& inside, const std::string& outside) {
  return "ip link add " + inside + " type veth peer name " + outside +
         Up(outside) + Up(inside);
}

std::string MakeTap(const std::string& netdev) {
  return "ip tuntap add mode tap name " + netdev + Up(netdev);
}

}  // namespace

std::unique_ptr<Lab> MakeNetdevLab(const std::string& kind, Network& network,
                                   std::string& error) {
  error = network.Enter();
  if (!error.empty()) return nullptr;
  const std::string inside = "cf-" + kind;
  const std::string outside = kind == "tap" ? inside : inside + "-x";
  error =
      RunCommand(kind == "tap" ? MakeTap(inside) : MakeVeth(inside, outside));
  if (!error.empty()) return nullptr;
  ibv_device* const device = AddSoftDevice(kind + ":" + inside, error);
  if (device == nullptr) return nullptr;
  const bool pads = kind == "tap";
  LabFacts facts = {.name = kind,
                    .gives = kArrivals | kInject | kLive | kObserve | kHolds |
                             kStrict | kLink | (pads ? 0u : kRunts),
                    .why_not =
                        [](Need need) {
                          return need == kRunts ? "the kernel pads"
                                                : "the netdev's queue waits";
                        },
                    .pinned = true,
                    .capabilities = kSoftCapabilities,
                    .not_applicable = pads ? 3u : 1u};
  return std::make_unique<NetdevLab>(std::move(facts), device, outside);
}

}  // namespace weir::conformance
