// Files in the place of a wire's that are not one, or not a sound one.

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/hca/backend/backend_rig.h"
#include "test/support/child_process.h"
#include "test/support/own_wire.h"
#include "weir/base/unique_fd.h"
#include "weir/hca/backend/wire/layout.h"
#include "weir/hca/backend/wire/wire.h"

namespace weir::hca {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Gives the process a /dev/shm of its own, as `options` say.
bool MountShm(const char* options) {
  if (unshare(CLONE_NEWNS) == 0 &&
      mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
      mount("small", "/dev/shm", "tmpfs", 0, options) == 0) {
    return true;
  }
  std::perror("a small /dev/shm");
  return false;
}

class WireFileTest : public testing::Test {
 protected:
  ~WireFileTest() override {
    unlink(path_.c_str());
    // Of the ends that were killed.
    for (const char end : {'a', 'b'}) unlink((path_ + ".wake-" + end).c_str());
  }

  static absl::StatusOr<std::unique_ptr<Backend>> Open(
      const std::string& text) {
    return OpenWire(ParseDeviceKey(text).value());
  }
  std::string OpenError() const {
    return std::string(Open(name_).status().message());
  }
  // Puts a file with these bytes in the place of the wire's.
  void Place(const std::string& bytes, mode_t mode = 0600) const {
    const UniqueFd fd(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL, mode));
    ASSERT_TRUE(fd.is_open());
    ASSERT_EQ(fchmod(fd.get(), mode), 0);
    Overwrite(bytes, 0);
  }
  void Overwrite(const std::string& bytes, off_t offset) const {
    const UniqueFd fd(open(path_.c_str(), O_WRONLY));
    ASSERT_EQ(pwrite(fd.get(), bytes.data(), bytes.size(), offset),
              static_cast<ssize_t>(bytes.size()));
  }
  bool Exists() const { return access(path_.c_str(), F_OK) == 0; }

  const std::string name_ = OwnWire("file");
  const std::string path_ = "/dev/shm/weir-" + std::to_string(geteuid()) + "-" +
                            name_.substr(std::string("wire:").size());
};

TEST_F(WireFileTest, IsThereAsLongAsAnEndIsOpen) {
  {
    const auto a = Open(name_);
    const auto b = Open(name_);
    EXPECT_TRUE(Exists());
    struct stat facts {};
    ASSERT_EQ(stat(path_.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600u);
  }
  EXPECT_FALSE(Exists());
  EXPECT_NE(access((path_ + ".wake-a").c_str(), F_OK), 0);
}

TEST_F(WireFileTest, TakesMemoryForOpenPairsOnly) {
  const auto a = Open(name_ + ",bytes=1048576");
  const auto b = Open(name_);
  struct stat facts {};
  ASSERT_EQ(stat(path_.c_str(), &facts), 0);
  EXPECT_GT(facts.st_size, 200 << 20);
  EXPECT_LT(facts.st_blocks * 512, 3 << 20);
}

TEST_F(WireFileTest, LeavesAForeignFileAlone) {
  Place("what somebody else wrote");
  EXPECT_EQ(OpenError(),
            name_ + ": " + path_ +
                " is not the file of a wire; remove it or choose another name");
  struct stat facts {};
  ASSERT_EQ(stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_size, 24);
}

TEST_F(WireFileTest, RefusesAFileThatOthersMayReadOrWrite) {
  Place("", 0644);
  EXPECT_EQ(OpenError(), name_ + ": " + path_ +
                             " is not a private file of this user; remove it "
                             "or choose another name");
}

TEST_F(WireFileTest, FollowsNoSymbolicLink) {
  ASSERT_EQ(symlink("/nowhere/else", path_.c_str()), 0);
  EXPECT_THAT(OpenError(), StartsWith(name_ + ": " + path_ + ": open: "));
}

TEST_F(WireFileTest, StartsAnUnfinishedFileAnew) {
  Place(std::string(100, '\0'));
  EXPECT_EQ(Open(name_).status(), absl::OkStatus());
}

TEST_F(WireFileTest, RefusesAnotherVersionThatIsInUse) {
  const auto a = Open(name_);
  Overwrite("\x7f", offsetof(WireHeader, version));
  EXPECT_EQ(OpenError(), name_ + ": " + path_ +
                             " is in use by another version of weir; remove it "
                             "or choose another name");
}

TEST_F(WireFileTest, RefusesADamagedFileThatIsInUse) {
  const auto a = Open(name_);
  Overwrite("\x7f", offsetof(WireHeader, geometry.ring_bytes));
  EXPECT_THAT(OpenError(), HasSubstr(path_ + " is damaged; remove it"));
}

TEST_F(WireFileTest, SurvivesRingsThatWereScribbledOver) {
  const auto a = Open(name_ + ",end=a");
  const auto b = Open(name_ + ",end=b");
  EXPECT_EQ(Send(*a.value(), {PatternFrame(1, 60)}), 1u);
  const WireGeometry geometry = {.mtu_bytes = 1500, .ring_bytes = 262144};
  Overwrite("\xff\xff\xff\x7f",
            static_cast<off_t>(WireRingOffset(geometry, 0, 1)));
  EXPECT_TRUE(TakeFrames(*b.value(), 8).empty());
  EXPECT_EQ(CounterValue(*b.value(), "rx_damaged"), 1u);
  EXPECT_EQ(Send(*a.value(), {PatternFrame(2, 60)}), 1u);
  EXPECT_THAT(TakeFrames(*b.value(), 8),
              testing::ElementsAre(PatternFrame(2, 60)));
}

TEST_F(WireFileTest, NamesMayHaveAnyCharacters) {
  const auto a = Open(name_ + "/../x y.wake-a");
  ASSERT_TRUE(a.ok()) << a.status();
  EXPECT_TRUE(access((path_ + "%2f%2e%2e%2fx%20y%2ewake-a").c_str(), F_OK) ==
              0);
  EXPECT_EQ(Open(name_ + std::string(300, 'x')).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// A process that has opened the wire `text` and waits to be killed.
auto KilledOwner(const std::string& text) {
  return [text](Conversation parent) {
    const auto end = OpenWire(ParseDeviceKey(text).value());
    parent.Say(end.ok() ? 1 : 0);
    return !parent.Hear().has_value();
  };
}

TEST_F(WireFileTest, GoesWhenAnyWireIsOpenedAfterAKill) {
  {
    ChildProcess child(KilledOwner(name_));
    ASSERT_EQ(child.conversation().Hear(), 1u);
  }
  EXPECT_TRUE(Exists());
  const auto other = Open(name_ + "-other");
  EXPECT_FALSE(Exists());
  EXPECT_NE(access((path_ + ".wake-a").c_str(), F_OK), 0);
}

TEST_F(WireFileTest, StaysWhenAnotherWireIsOpenedWhileItIsUsed) {
  ChildProcess child(KilledOwner(name_));
  ASSERT_EQ(child.conversation().Hear(), 1u);
  const auto other = Open(name_ + "-other");
  EXPECT_TRUE(Exists());
  EXPECT_EQ(access((path_ + ".wake-a").c_str(), F_OK), 0);
}

TEST_F(WireFileTest, StaysWhenAnotherWireIsOpenedIfItIsForeign) {
  Place("what somebody else wrote");
  const auto other = Open(name_ + "-other");
  EXPECT_TRUE(Exists());
  unlink(path_.c_str());
  Place(std::string(100, '\0'), 0644);
  const auto one_more = Open(name_ + "-other");
  EXPECT_TRUE(Exists());
}

TEST_F(WireFileTest, IsRemovedIfItCannotBeMade) {
  ChildProcess child([&](Conversation) {
    return MountShm("size=16k") &&
           Open(name_).status().code() ==
               absl::StatusCode::kResourceExhausted &&
           !Exists();
  });
  EXPECT_EQ(child.Wait(), 0);
}

TEST_F(WireFileTest, SaysWhenMemoryIsShort) {
  ChildProcess child([&](Conversation) {
    if (!MountShm("size=512k")) return false;
    const auto a = Open(name_ + ",end=a");
    const auto b = Open(name_ + ",end=b");
    if (!a.ok() || b.status().code() != absl::StatusCode::kResourceExhausted) {
      return false;
    }
    // The end that failed is free again and nobody waits for it.
    return b.status().message().find("make /dev/shm larger") !=
               absl::string_view::npos &&
           Send(**a, {PatternFrame(1, 60)}) == 1 &&
           CounterValue(**a, "tx_no_peer") == 1 &&
           Open(name_ + ",end=b").status() == b.status();
  });
  EXPECT_EQ(child.Wait(), 0);
}

}  // namespace
}  // namespace weir::hca
