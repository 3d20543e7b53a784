#include "weir/control/line_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "weir/base/unique_fd.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

std::string PathHere() {
  // Paths of sockets are short.
  return "/dev/shm/weir-test-line." + std::to_string(getpid());
}

// A server that answers "x" by "<x>", and those who connect to it.
class LineServerTest : public ::testing::Test {
 protected:
  UniqueFd Connect() {
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, server_->path().c_str());
    EXPECT_EQ(connect(socket.get(), reinterpret_cast<sockaddr*>(&address),
                      sizeof(address)),
              0);
    ServeAll();
    return socket;
  }
  // Until nothing is left to do.
  void ServeAll() {
    for (pollfd polled{server_->fd(), POLLIN, 0}; poll(&polled, 1, 0) == 1;) {
      server_->Serve();
      ASSERT_LT(++visits_, 100'000);
    }
  }
  std::string Ask(const UniqueFd& socket, const std::string& text) {
    EXPECT_EQ(write(socket.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
    ServeAll();
    return Read(socket);
  }
  static std::string Read(const UniqueFd& socket) {
    std::string all;
    std::array<char, 65536> bytes;
    for (ssize_t got = 1; got > 0;) {
      got = read(socket.get(), bytes.data(), bytes.size());
      if (got > 0) all.append(bytes.data(), static_cast<size_t>(got));
      if (got == 0) all += "<end>";
    }
    return all;
  }

  std::unique_ptr<LineServer> server_ = *LineServer::Create(
      PathHere(),
      [this](absl::string_view line) {
        ++answers_;
        return answer_.empty() ? "<" + std::string(line) + ">" : answer_;
      },
      "too long");
  // In place of the usual answer.
  std::string answer_;
  int answers_ = 0;
  int visits_ = 0;
};

TEST_F(LineServerTest, AnswersALine) {
  EXPECT_EQ(Ask(Connect(), "hello\n"), "<hello>\n");
}

TEST_F(LineServerTest, WaitsForTheRestOfALine) {
  const UniqueFd socket = Connect();
  EXPECT_EQ(Ask(socket, "he"), "");
  EXPECT_EQ(Ask(socket, "llo\nan"), "<hello>\n");
  EXPECT_EQ(Ask(socket, "d\n"), "<and>\n");
}

TEST_F(LineServerTest, AnswersManyLinesAFewAVisit) {
  const UniqueFd socket = Connect();
  const std::string lines(600, '\n');
  ASSERT_EQ(write(socket.get(), lines.data(), lines.size()), 600);
  server_->Serve();
  EXPECT_LE(answers_, 8);
  std::string answers;
  while (answers_ < 600) {
    ServeAll();
    answers += Read(socket);
    ASSERT_LT(++visits_, 100'000);
  }
  ServeAll();
  answers += Read(socket);
  EXPECT_EQ(answers.size(), 600 * std::string("<>\n").size());
}

TEST_F(LineServerTest, AnswersWhatCameBeforeTheEndOfInput) {
  const UniqueFd socket = Connect();
  ASSERT_EQ(write(socket.get(), "a\nb\nrest", 8), 8);
  shutdown(socket.get(), SHUT_WR);
  ServeAll();
  EXPECT_EQ(Read(socket), "<a>\n<b>\n<end>");
  EXPECT_EQ(server_->clients(), 0u);
}

TEST_F(LineServerTest, SendsAwayWhoSendsALineThatIsTooLong) {
  const UniqueFd socket = Connect();
  EXPECT_EQ(Ask(socket, std::string(LineServer::kMaxLineBytes + 1, 'x')),
            "too long\n<end>");
  EXPECT_EQ(server_->clients(), 0u);
  EXPECT_EQ(answers_, 0);
}

TEST_F(LineServerTest, TakesTheLongestLine) {
  const std::string longest(LineServer::kMaxLineBytes, 'x');
  EXPECT_EQ(Ask(Connect(), longest + "\n"), "<" + longest + ">\n");
}

TEST_F(LineServerTest, KeepsOneAnswerForWhoDoesNotRead) {
  answer_ = std::string(1 << 20, 'y');
  const UniqueFd silent = Connect();
  ASSERT_EQ(write(silent.get(), "1\n2\n3\n4\n", 8), 8);
  ServeAll();
  EXPECT_EQ(answers_, 1);
  const UniqueFd other = Connect();
  answer_ = "short";
  EXPECT_EQ(Ask(other, "x\n"), "short\n");
}

TEST_F(LineServerTest, ForgetsWhoLeavesInTheMiddleOfAnAnswer) {
  answer_ = std::string(1 << 20, 'y');
  {
    const UniqueFd gone = Connect();
    ASSERT_EQ(write(gone.get(), "1\n", 2), 2);
    ServeAll();
    EXPECT_EQ(server_->clients(), 1u);
  }
  ServeAll();
  EXPECT_EQ(server_->clients(), 0u);
}

TEST_F(LineServerTest, MakesRoomByWhoWasSilentLongest) {
  std::vector<UniqueFd> sockets;
  for (size_t i = 0; i < LineServer::kMaxClients; ++i) {
    sockets.push_back(Connect());
  }
  EXPECT_EQ(Ask(sockets[0], "x\n"), "<x>\n");
  const UniqueFd one_more = Connect();
  EXPECT_EQ(Ask(one_more, "y\n"), "<y>\n");
  EXPECT_EQ(server_->clients(), LineServer::kMaxClients);
  EXPECT_EQ(Read(sockets[1]), "<end>");
  EXPECT_EQ(Ask(sockets[0], "z\n"), "<z>\n");
}

TEST_F(LineServerTest, IsForItsUserAlone) {
  struct stat file {};
  ASSERT_EQ(stat(server_->path().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
}

TEST_F(LineServerTest, RemovesItsSocket) {
  const std::string path = server_->path();
  server_.reset();
  EXPECT_EQ(access(path.c_str(), F_OK), -1);
}

TEST(LineServerCreateTest, SaysWhatIsWrongWithThePath) {
  const auto longer = LineServer::Create(std::string(200, 'x'), nullptr, "");
  EXPECT_THAT(std::string(longer.status().message()),
              HasSubstr("File name too long"));
  const auto nowhere = LineServer::Create("/no/such/folder", nullptr, "");
  EXPECT_THAT(std::string(nowhere.status().message()),
              HasSubstr("control socket /no/such/folder: bind"));
}

}  // namespace
}  // namespace weir
