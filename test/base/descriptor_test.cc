#include "weir/base/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "gtest/gtest.h"

namespace weir {
namespace {

class AboveStdioTest : public testing::Test {
 protected:
  AboveStdioTest() : saved_(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10)) {
    close(STDIN_FILENO);
  }
  ~AboveStdioTest() override {
    dup2(saved_, STDIN_FILENO);
    close(saved_);
  }

 private:
  int saved_;
};

TEST_F(AboveStdioTest, GivesAnotherForAStandardStream) {
  const int low = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(low, STDIN_FILENO);
  const int fd = AboveStdio(low);
  EXPECT_GT(fd, STDERR_FILENO);
  EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
  char byte = 'x';
  EXPECT_EQ(read(fd, &byte, 1), 1);
  EXPECT_EQ(byte, '\0');
  EXPECT_EQ(fcntl(STDIN_FILENO, F_GETFD), -1);
  close(fd);
}

TEST_F(AboveStdioTest, LeavesOthersAsTheyAre) {
  const int low = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  const int high = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(AboveStdio(high), high);
  EXPECT_EQ(AboveStdio(-1), -1);
  close(low);
  close(high);
}

}  // namespace
}  // namespace weir
