#include "weir/hca/backend/wire/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"
#include "weir/hca/backend/wire/layout.h"

namespace weir::hca {
namespace {

// Which byte stands for what; bytes need not exist to be locked.
constexpr off_t kFileLock = 0;
constexpr off_t kFirstEndLock = 1;

// Nobody holds the lock for longer than it takes to map a few rings, unless it
// is stopped.
constexpr std::chrono::seconds kPatience{5};
constexpr std::chrono::milliseconds kPause{1};

// NAME_MAX of Linux is 255; room for what is around the name.
constexpr size_t kMaxNameBytes = 200;

constexpr absl::string_view kDirectory = "/dev/shm";

struct flock ByteLock(off_t byte, short type, off_t bytes = 1) noexcept {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = bytes;
  return lock;
}

// True if another open file description holds any of these bytes. Who cannot be
// asked is taken for alive: nothing of it is given up.
bool IsAnyLocked(int fd, off_t byte, off_t bytes) noexcept {
  struct flock lock = ByteLock(byte, F_WRLCK, bytes);
  return fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

bool SetLock(int fd, off_t byte, short type) noexcept {
  struct flock lock = ByteLock(byte, type);
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

// How the names of the files of all wires of this user begin.
std::string FilePrefix() { return absl::StrCat("weir-", geteuid(), "-"); }

// A file name that no other wire has: other characters than letters, digits,
// '_' and '-' as '%' and two hexadecimal digits.
std::string FileNameOf(absl::string_view name) {
  std::string result;
  for (const char character : name) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte < 0x80 &&
        (std::isalnum(byte) != 0 || byte == '_' || byte == '-')) {
      result += character;
    } else {
      absl::StrAppend(&result, "%", absl::Hex(byte, absl::kZeroPad2));
    }
  }
  return result;
}

}  // namespace

absl::StatusOr<WireFile> WireFile::OpenLocked(absl::string_view object,
                                              absl::string_view name) {
  const std::string file_name = FileNameOf(name);
  if (file_name.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(object, ": the name is too long; want at most ",
                     kMaxNameBytes, " characters"));
  }
  const std::string path =
      absl::StrCat(kDirectory, "/", FilePrefix(), file_name);
  for (;;) {
    WireFile file(
        UniqueFd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                      S_IRUSR | S_IWUSR)),
        path);
    if (!file.fd_.is_open()) {
      const std::string where = absl::StrCat(object, ": ", path);
      return ErrnoStatus(errno, {.object = where,
                                 .call = "open",
                                 .remedy = "remove what is there or choose "
                                           "another name"});
    }
    const absl::Status status = file.CheckOwner(object);
    if (!status.ok()) return status;
    if (!file.Lock()) {
      return absl::DeadlineExceededError(
          absl::StrCat(object, ": ", path,
                       ": another program keeps it locked; is it stopped?"));
    }
    struct stat facts {};
    if (fstat(file.fd(), &facts) == 0 && facts.st_nlink > 0) return file;
    // Whoever had it locked was the last to use it and has removed it.
  }
}

// Not by std::filesystem, whose iterators do not survive memory that runs out.
void WireFile::RemoveLeftovers() {
  struct Close {
    void operator()(DIR* directory) const noexcept { closedir(directory); }
  };
  const std::string prefix = FilePrefix();
  std::vector<std::string> paths;
  const std::unique_ptr<DIR, Close> directory(opendir(kDirectory.data()));
  while (directory != nullptr) {
    const dirent* const entry = readdir(directory.get());
    if (entry == nullptr) break;
    const absl::string_view name = entry->d_name;
    // A dot is in the names of FIFOs alone.
    if (absl::StartsWith(name, prefix) && !absl::StrContains(name, '.')) {
      paths.push_back(absl::StrCat(kDirectory, "/", name));
    }
  }
  for (const std::string& path : paths) RemoveLeftover(path);
}

// Asks first whether it is used, with a descriptor whose end wakes nobody, as
// that of one for writing would.
void WireFile::RemoveLeftover(const std::string& path) {
  const WireFile looked_at(OpenExisting(path, O_RDONLY), path);
  if (!looked_at.IsPrivate() || looked_at.IsUsed()) return;
  WireFile file(OpenExisting(path, O_RDWR), path);
  if (!file.IsPrivate() || !file.TryLock() || file.IsUsed()) return;
  const absl::StatusOr<Start> start = file.ReadStart();
  // Zero: whoever made it was killed before it was finished.
  if (start.ok() &&
      (start->first_word == kWireMagic || start->first_word == 0)) {
    file.Remove();
  }
}

UniqueFd WireFile::OpenExisting(const std::string& path, int mode) noexcept {
  // Never waits, whatever it is that has this name.
  return UniqueFd(
      open(path.c_str(), mode | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

bool WireFile::IsPrivate() const noexcept {
  constexpr mode_t kOfOthers = S_IRWXG | S_IRWXO;
  struct stat facts {};
  return fstat(fd(), &facts) == 0 && S_ISREG(facts.st_mode) &&
         facts.st_uid == geteuid() && (facts.st_mode & kOfOthers) == 0;
}

bool WireFile::IsUsed() const noexcept {
  return IsAnyLocked(fd(), kFileLock, kFirstEndLock + off_t{kWireEnds});
}

absl::Status WireFile::CheckOwner(absl::string_view object) const {
  if (IsPrivate()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(object, ": ", path_,
                   " is not a private file of this user; remove it or choose "
                   "another name"));
}

std::string WireFile::WakePath(size_t end) const {
  return absl::StrCat(path_, ".wake-", std::string(1, WireEndLetter(end)));
}

bool WireFile::TryLock() noexcept { return SetLock(fd(), kFileLock, F_WRLCK); }

bool WireFile::Lock() noexcept {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!TryLock()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

void WireFile::Unlock() noexcept { SetLock(fd(), kFileLock, F_UNLCK); }

bool WireFile::TryHold(size_t end) noexcept {
  return SetLock(fd(), kFirstEndLock + static_cast<off_t>(end), F_WRLCK);
}

bool WireFile::IsHeld(size_t end) const noexcept {
  return IsAnyLocked(fd(), kFirstEndLock + static_cast<off_t>(end), 1);
}

absl::StatusOr<WireFile::Start> WireFile::ReadStart() const {
  struct stat facts {};
  if (fstat(fd(), &facts) != 0) {
    return ErrnoStatus(errno, {.object = path_, .call = "fstat"});
  }
  Start start{.file_bytes = static_cast<size_t>(facts.st_size)};
  if (pread(fd(), &start.first_word, sizeof start.first_word, 0) < 0) {
    return ErrnoStatus(errno, {.object = path_, .call = "read"});
  }
  return start;
}

absl::Status WireFile::Clear(size_t bytes) {
  if (ftruncate(fd(), 0) == 0 &&
      ftruncate(fd(), static_cast<off_t>(bytes)) == 0) {
    return absl::OkStatus();
  }
  return ErrnoStatus(errno, {.object = path_, .call = "ftruncate"});
}

absl::Status WireFile::Allocate(size_t offset, size_t bytes) {
  if (fallocate(fd(), 0, static_cast<off_t>(offset),
                static_cast<off_t>(bytes)) == 0) {
    return absl::OkStatus();
  }
  return ErrnoStatus(errno, {.object = path_,
                             .call = "fallocate",
                             .remedy = "make /dev/shm larger or `bytes` "
                                       "smaller"});
}

// Without memory of its own: whatever closes cannot fail.
void WireFile::RemoveWake(size_t end) noexcept {
  std::array<char, 512> path;
  std::snprintf(path.data(), path.size(), "%s.wake-%c", path_.c_str(),
                WireEndLetter(end));
  unlink(path.data());
}

void WireFile::Remove() noexcept {
  struct stat facts {};
  if (fstat(fd(), &facts) != 0 || facts.st_nlink == 0) return;
  for (size_t end = 0; end < kWireEnds; ++end) RemoveWake(end);
  unlink(path_.c_str());
}

}  // namespace weir::hca
