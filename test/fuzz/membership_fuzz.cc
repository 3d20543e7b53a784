// A host and a router of groups that hear any messages at any time, beside what
// a control thread asks for. The first byte of the input chooses the protocol,
// the rest are steps.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "test/fuzz/input.h"
#include "weir/membership/group_host.h"
#include "weir/membership/group_message.h"
#include "weir/membership/group_router.h"

namespace weir::fuzz {
namespace {

constexpr uint32_t kGroups = 8;
constexpr uint32_t kSources = 8;
// One less than there may be: there is not room for all.
constexpr uint32_t kMaxGroups = kGroups - 1;
constexpr uint32_t kMaxSources = kSources - 1;
constexpr uint64_t kMs = 1'000'000;
// Messages of one moment: a few of each group.
constexpr int kMaxMessages = 20 * kGroups;

template <typename P>
class Machine {
  using Address = typename P::Address;
  using Message = GroupMessage<Address>;
  using Sources = std::set<Address>;
  struct Wish {
    FilterMode mode = FilterMode::kInclude;
    Sources sources = {};

    bool Accepts(const Address& source) const {
      return sources.contains(source) == (mode == FilterMode::kInclude);
    }
  };

 public:
  void Run(Input input) {
    while (!input.empty()) {
      Step(input);
      CheckHost();
    }
    // Whatever came, all of it ends.
    for (int i = 0; i < 100; ++i) {
      now_ns_ += 100'000'000 * kMs;
      TakeOfHost();
      TakeOfRouter();
    }
    Require(router_.groups() == 0, "the router forgets all");
    Require(host_.next_ns() == GroupHost<P>::kNever, "the host falls silent");
  }

 private:
  static Address Group(uint8_t number) {
    Address group = P::kAllRouters;
    group.octets.back() = static_cast<uint8_t>(1 + number % kGroups);
    return group;
  }
  static Address Source(uint8_t number) {
    Address source{};
    source.octets.back() = static_cast<uint8_t>(1 + number % kSources);
    return source;
  }

  void Step(Input& input) {
    switch (input.Byte() % 7) {
      case 0:
        Hear(input, [this](const Message& message) {
          host_.OnMessage(message, now_ns_);
        });
        break;
      case 1: {
        const Address from = Source(input.Byte());
        Hear(input, [this, &from](const Message& message) {
          router_.OnMessage(message, from, now_ns_);
        });
        break;
      }
      case 2:
        Set(input);
        break;
      case 3:
        now_ns_ += input.Byte() * kMs * (input.Byte() % 2 == 0 ? 10 : 2000);
        break;
      case 4:
        TakeOfHost();
        break;
      case 5:
        TakeOfRouter();
        CheckRouter();
        break;
      default:
        host_.Refresh(now_ns_);
        break;
    }
  }

  // In memory of its own: the sanitizers see reads behind its end.
  template <typename F>
  static void Hear(Input& input, F hear) {
    const auto taken = input.Take(input.Byte());
    std::vector<std::byte> bytes(taken.size());
    std::ranges::transform(taken, bytes.begin(),
                           [](uint8_t byte) { return std::byte{byte}; });
    if (const auto message = P::Read(bytes)) hear(*message);
  }

  void Set(Input& input) {
    const Address group = Group(input.Byte());
    Wish wish;
    if (input.Byte() % 2 != 0) wish.mode = FilterMode::kExclude;
    for (const uint8_t number : input.Take(input.Byte() % (kSources + 1))) {
      wish.sources.insert(Source(number));
    }
    const std::vector<Address> list(wish.sources.begin(), wish.sources.end());
    if (!host_.Set(group, wish.mode, list, now_ns_)) {
      Require(list.size() > kMaxSources || wanted_.size() >= kMaxGroups,
              "what there is room for is taken");
      return;
    }
    if (wish.mode == FilterMode::kInclude && list.empty()) {
      wanted_.erase(group);
    } else {
      wanted_[group] = wish;
    }
  }

  void TakeOfHost() {
    int count = 0;
    while (const auto message = host_.Take(out_, now_ns_)) {
      Require(++count <= kMaxMessages, "a host comes to an end");
      Require(message->bytes <= out_.size(), "messages lie in their memory");
      const auto read = P::Read(std::span(out_).first(message->bytes));
      Require(read.has_value(), "what a host says can be read");
      Require(read->kind != Message::Kind::kQuery, "hosts do not ask");
    }
    Require(host_.next_ns() > now_ns_, "nothing is due when nothing is said");
  }

  void TakeOfRouter() {
    int count = 0;
    while (const auto query = router_.Take(out_, now_ns_)) {
      Require(++count <= kMaxMessages, "a router comes to an end");
      const auto read = P::Read(std::span(out_).first(query->bytes));
      Require(read.has_value() && read->kind == Message::Kind::kQuery,
              "what a router asks can be read");
    }
    while (const auto change = router_.TakeChange(now_ns_)) {
      Require(++count <= kMaxMessages, "changes come to an end");
      Wish& wish = forwarded_[change->group];
      wish.mode = change->mode;
      wish.sources = Sources(change->sources.begin(), change->sources.end());
      if (wish.mode == FilterMode::kInclude && wish.sources.empty()) {
        forwarded_.erase(change->group);
      }
    }
    Require(router_.groups() <= kMaxGroups, "the bound on groups");
  }

  // The host wants what it was told to.
  void CheckHost() const {
    for (uint8_t g = 0; g < kGroups; ++g) {
      const auto wish = wanted_.find(Group(g));
      for (uint8_t s = 0; s < kSources; ++s) {
        const bool wanted =
            wish != wanted_.end() && wish->second.Accepts(Source(s));
        Require(host_.Accepts(Group(g), Source(s)) == wanted,
                "a host accepts what is wanted");
      }
    }
  }

  // The changes, one after another, say what is forwarded.
  void CheckRouter() const {
    for (uint8_t g = 0; g < kGroups; ++g) {
      const auto wish = forwarded_.find(Group(g));
      for (uint8_t s = 0; s < kSources; ++s) {
        const bool wanted =
            wish != forwarded_.end() && wish->second.Accepts(Source(s));
        Require(router_.Forwards(Group(g), Source(s)) == wanted,
                "changes say what is forwarded");
      }
    }
  }

  uint64_t now_ns_ = 1000 * kMs;
  GroupHost<P> host_{{.max_groups = kMaxGroups, .max_sources = kMaxSources}};
  GroupRouter<P> router_{{.max_groups = kMaxGroups, .max_sources = kMaxSources},
                         Source(4)};
  std::map<Address, Wish> wanted_;
  std::map<Address, Wish> forwarded_;
  std::array<std::byte, 256> out_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  if (input.Byte() % 2 == 0) {
    Machine<Igmp>().Run(input);
  } else {
    Machine<Mld>().Run(input);
  }
  return 0;
}

}  // namespace weir::fuzz
