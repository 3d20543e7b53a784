// A router on a clock of its own: what it is told, and what it asks, as text.

#ifndef TEST_MEMBERSHIP_ROUTER_ON_CLOCK_H_
#define TEST_MEMBERSHIP_ROUTER_ON_CLOCK_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "test/membership/told.h"
#include "weir/membership/group_records.h"
#include "weir/membership/group_router.h"
#include "weir/net/ip_text.h"

namespace weir {

inline constexpr char kGroup[] = "233.252.0.5";
inline constexpr char kMember[] = "192.0.2.7";

template <typename P>
class RouterOnClock {
 public:
  using Address = typename P::Address;

  explicit RouterOnClock(const GroupRouterOptions& options = {},
                         const char* address = "192.0.2.1")
      : router(options, Of(address)) {}

  static Address Of(const char* text) { return HostOnClock<P>::Of(text); }

  // A report with one record.
  void Report(RecordType type, const std::vector<const char*>& sources = {},
              const char* group = kGroup) {
    std::array<std::byte, 1200> bytes{};
    ReportWriter<P> writer(bytes);
    writer.Begin(type, Of(group), sources.size());
    for (const char* source : sources) writer.AddSource(Of(source));
    Hear(*P::Read(std::span(bytes).first(writer.Finish())), kMember);
  }
  void OldReport(uint8_t version) {
    Hear({.kind = Message::Kind::kOldReport,
          .version = version,
          .group = Of(kGroup)},
         kMember);
  }
  void Leave() {
    Hear({.kind = Message::Kind::kLeave, .version = 2, .group = Of(kGroup)},
         kMember);
  }
  void Query(const char* from, const char* group = "0.0.0.0") {
    Hear({.kind = Message::Kind::kQuery, .version = 3, .group = Of(group)},
         from);
  }

  // Lets `for_ns` pass; what was asked meanwhile, "SECONDS GROUP SOURCES".
  std::vector<std::string> Run(uint64_t for_ns) {
    std::vector<std::string> asked;
    const uint64_t end_ns = now_ns + for_ns;
    for (;;) {
      std::array<std::byte, 1200> out;
      while (const auto query = router.Take(out, now_ns)) {
        const auto read = P::Read(std::span(out).first(query->bytes));
        std::string text = absl::StrCat((now_ns - begin_ns) / kSecond, " ",
                                        net::ToString(query->destination));
        for (size_t i = 0; i < read->sources.size(); ++i) {
          absl::StrAppend(&text, " ", net::ToString(read->sources[i]));
        }
        asked.push_back(text);
      }
      while (const auto change = router.TakeChange(now_ns)) {
        changes.push_back(TextOf(*change));
      }
      if (router.next_ns() > end_ns) break;
      now_ns = std::max(now_ns, router.next_ns());
    }
    now_ns = end_ns;
    return asked;
  }
  // What has changed since the last call.
  std::vector<std::string> Changes() {
    Run(0);
    return std::exchange(changes, {});
  }
  bool Forwards(const char* source, const char* group = kGroup) const {
    return router.Forwards(Of(group), Of(source));
  }

  GroupRouter<P> router;
  static constexpr uint64_t begin_ns = 1000 * kSecond;
  uint64_t now_ns = begin_ns;
  std::vector<std::string> changes;

 private:
  using Message = GroupMessage<Address>;

  static std::string TextOf(const GroupForward<Address>& change) {
    std::vector<std::string> sources;
    for (const Address& source : change.sources) {
      sources.push_back(net::ToString(source));
    }
    return absl::StrCat(change.mode == FilterMode::kInclude ? "of {" : "but {",
                        absl::StrJoin(sources, " "), "}");
  }
  void Hear(const Message& message, const char* from) {
    router.OnMessage(message, Of(from), now_ns);
  }
};

}  // namespace weir

#endif  // TEST_MEMBERSHIP_ROUTER_ON_CLOCK_H_
