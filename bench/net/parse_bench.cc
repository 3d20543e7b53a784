#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/net/parse_loops.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/pipeline/lcore.h"
#include "weir/stage/parse.h"

namespace weir {
namespace {

class WeirParser {
 public:
  explicit WeirParser(size_t frames)
      : pool_(
            *MbufPool::Create({.mbufs = static_cast<uint32_t>(frames) + 512})),
        lcore_(0, pool_->cache(0)) {}
  WeirParser(const WeirParser&) = delete;
  WeirParser& operator=(const WeirParser&) = delete;
  ~WeirParser() {
    for (size_t i = 0; i < mbufs_.size(); ++i) {
      lcore_.cache().FreePackets({&mbufs_[i], 1});
    }
  }

  void Add(const FrameBytes& frame) {
    std::array<Mbuf*, 1> one{};
    lcore_.cache().Alloc(one);
    one[0]->Reset(pool_->headroom_bytes());
    one[0]->SetLength(static_cast<uint32_t>(frame.size()));
    std::copy(frame.begin(), frame.end(), one[0]->data());
    mbufs_.push_back(one[0]);
  }
  void Prefetch(size_t i) { __builtin_prefetch(mbufs_[i]->data()); }
  bool Parse(size_t i) { return parse_.OnPacket(*mbufs_[i], lcore_).is_pass(); }

 private:
  std::unique_ptr<MbufPool> pool_;
  Lcore lcore_;
  weir::Parse parse_;
  std::vector<Mbuf*> mbufs_;
};

const bool kRegistered = [] {
  RegisterParseBenches<WeirParser>();
  return true;
}();

}  // namespace
}  // namespace weir
