#include "weir/port/port_files.h"

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace weir {

PortFiles FilesOfPort(absl::string_view name) {
  constexpr absl::string_view kOption = ",out=";
  if (!absl::ConsumePrefix(&name, "pcap:")) return {};
  PortFiles files = {.input = name.substr(0, name.find(',')), .output = {}};
  const size_t begin = name.find(kOption);
  if (begin == absl::string_view::npos) return files;
  name.remove_prefix(begin + kOption.size());
  files.output = name.substr(0, name.find(','));
  return files;
}

std::string WithoutOutput(absl::string_view name) {
  if (FilesOfPort(name).output.empty()) return std::string(name);
  return absl::StrCat(name, ",plan=on");
}

std::string FileIdentity(absl::string_view path) {
  if (path.empty()) return {};
  std::error_code error;
  const std::filesystem::path file = std::string(path);
  if (std::filesystem::exists(file, error) &&
      !std::filesystem::is_regular_file(file, error)) {
    return {};
  }
  const auto canonical = std::filesystem::weakly_canonical(
      std::filesystem::absolute(file, error), error);
  return absl::StrCat("file ", error ? std::string(path) : canonical.string());
}

bool IsSameFile(absl::string_view path, absl::string_view other) {
  struct stat facts {};
  struct stat other_facts {};
  const bool exists = stat(std::string(path).c_str(), &facts) == 0;
  if (exists != (stat(std::string(other).c_str(), &other_facts) == 0)) {
    return false;
  }
  if (exists) {
    return S_ISREG(facts.st_mode) && facts.st_dev == other_facts.st_dev &&
           facts.st_ino == other_facts.st_ino;
  }
  return !path.empty() && FileIdentity(path) == FileIdentity(other);
}

absl::Status CheckIsOfNoPort(absl::string_view flag, absl::string_view path,
                             FileUse use, std::span<const std::string> ports) {
  for (const std::string& port : ports) {
    const PortFiles files = FilesOfPort(port);
    const bool writes = IsSameFile(path, files.output);
    const bool reads = use == FileUse::kWrite && IsSameFile(path, files.input);
    if (!writes && !reads) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        flag, ": ", path, ": port ", port, writes ? " writes" : " reads",
        " this file; name another file"));
  }
  return absl::OkStatus();
}

absl::Status CheckInputsAreKept(std::span<const std::string> ports) {
  for (const std::string& writer : ports) {
    const absl::string_view output = FilesOfPort(writer).output;
    for (const std::string& reader : ports) {
      if (!IsSameFile(output, FilesOfPort(reader).input)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          writer, ": ", output, ": is the ",
          &writer == &reader
              ? "input and the output"
              : absl::StrCat("output here and the input of port ", reader),
          "; name another file"));
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
