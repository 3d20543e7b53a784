// What a frame costs a program that uses the software HCA through the verbs:
// ibv_post_recv, ibv_poll_cq, ibv_post_send and ibv_poll_cq again.

#include <cstddef>
#include <string>

#include "bench/hca/port_loops.h"
#include "bench/hca/verbs_port.h"
#include "test/support/own_wire.h"

namespace weir {
namespace {

class NullPort : public VerbsPort {
 public:
  explicit NullPort(size_t bytes)
      : VerbsPort("null:,size=" + std::to_string(bytes), bytes) {}
};

class WirePair {
 public:
  explicit WirePair(size_t bytes)
      : a_(OwnWire("bench") + ",end=a", bytes),
        b_(OwnWire("bench") + ",end=b", bytes) {}
  VerbsPort& a() { return a_; }
  VerbsPort& b() { return b_; }

 private:
  VerbsPort a_;
  VerbsPort b_;
};

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  weir::ForBothSizes("null/forward", weir::PortForwards<weir::NullPort>);
  weir::RegisterCable<weir::WirePair>("cable");
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
