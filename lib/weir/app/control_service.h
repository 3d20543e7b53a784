// What can be asked of a running process from outside: commands with a name,
// over a socket, a line of JSON each way (docs/control.md). Parts of an app add
// what they offer.

#ifndef WEIR_APP_CONTROL_SERVICE_H_
#define WEIR_APP_CONTROL_SERVICE_H_

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/control/line_server.h"

namespace weir {

using ControlJson = nlohmann::ordered_json;

// The arguments of a command. Each getter returns nothing for one that is not
// there, InvalidArgument with its name for one of another type. Control thread.
class ControlArguments {
 public:
  explicit ControlArguments(const ControlJson& request) : request_(request) {}

  bool Has(absl::string_view key) const;
  // InvalidArgument also if it is not there.
  absl::StatusOr<std::string> Text(absl::string_view key) const;
  // `fallback` if it is not there.
  absl::StatusOr<std::string> TextOr(absl::string_view key,
                                     absl::string_view fallback) const;
  absl::StatusOr<uint64_t> NumberOr(absl::string_view key,
                                    uint64_t fallback) const;
  absl::StatusOr<bool> FlagOr(absl::string_view key, bool fallback) const;

 private:
  const ControlJson& request_;
};

// Control thread only.
class ControlService {
 public:
  // Returns an object, whose members are added to the answer, or why the
  // command failed: then nothing has changed.
  using Command =
      std::function<absl::StatusOr<ControlJson>(const ControlArguments&)>;

  // Listens at `path`. Errors as LineServer::Create.
  static absl::StatusOr<std::unique_ptr<ControlService>> Open(std::string path);

  // Has `command` be done for `name`; requests with another key than those in
  // `keys` are refused.
  void Add(std::string name, std::vector<std::string> keys, Command command);

  // The answer to `line`: {"ok":true,...} or {"ok":false,"error":"..."}.
  std::string Answer(absl::string_view line) const;

  // Readable when Serve has something to do, which takes a short time only.
  int fd() const noexcept { return server_->fd(); }
  void Serve() { server_->Serve(); }

 private:
  struct Entry {
    std::vector<std::string> keys;
    Command command;
  };

  ControlService() = default;

  absl::StatusOr<ControlJson> Run(absl::string_view line) const;

  std::map<std::string, Entry> commands_;
  std::unique_ptr<LineServer> server_;
};

}  // namespace weir

#endif  // WEIR_APP_CONTROL_SERVICE_H_
