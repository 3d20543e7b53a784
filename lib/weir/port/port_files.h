// The files that ports of kind pcap read and write, as far as their names tell:
// what a program has to know before it empties a file that it was given.

#ifndef WEIR_PORT_PORT_FILES_H_
#define WEIR_PORT_PORT_FILES_H_

#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weir {

// Parts of the name of a port; empty where there is no such file.
struct PortFiles {
  absl::string_view input;
  absl::string_view output;
};

// The files of the port `name`, which must outlive them. Any thread.
PortFiles FilesOfPort(absl::string_view name);

// The name of the same port that opens no file to write. Any thread.
std::string WithoutOutput(absl::string_view name);

// The identity of a file to write, however its path is spelt; empty for none,
// and for what is no regular file, such as /dev/null, and may be shared.
// Control thread.
std::string FileIdentity(absl::string_view path);

// Whether both are one regular file, be it by links, or will be once it is
// created. Control thread.
bool IsSameFile(absl::string_view path, absl::string_view other);

enum class FileUse { kRead, kWrite };

// InvalidArgument, beginning with `flag`, if `path`, which the flag says to
// use, is the file of one of `ports`, and either of them writes it. Control
// thread.
absl::Status CheckIsOfNoPort(absl::string_view flag, absl::string_view path,
                             FileUse use, std::span<const std::string> ports);

// InvalidArgument, naming both, if one of `ports` writes the file that another
// one reads. Control thread.
absl::Status CheckInputsAreKept(std::span<const std::string> ports);

}  // namespace weir

#endif  // WEIR_PORT_PORT_FILES_H_
