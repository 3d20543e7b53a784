#include "weir/control/line_client.h"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "weir/control/line_server.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr milliseconds kPatience(60'000);

// Serves until told to stop, on a thread of its own.
class ServerThread {
 public:
  explicit ServerThread(std::string path)
      : server_(*LineServer::Create(
            std::move(path),
            [](absl::string_view line) {
              return "<" + std::string(line) + ">";
            },
            "too long")),
        thread_([this](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            pollfd polled{server_->fd(), POLLIN, 0};
            if (poll(&polled, 1, 1) == 1) server_->Serve();
          }
        }) {}

 private:
  std::unique_ptr<LineServer> server_;
  std::jthread thread_;
};

std::string PathHere() {
  // Paths of sockets are short.
  return "/dev/shm/weir-test-client." + std::to_string(getpid());
}

TEST(LineClientTest, AsksAndIsAnsweredInTurn) {
  const ServerThread server(PathHere());
  auto client = *LineClient::Connect(PathHere());
  EXPECT_EQ(*client.Ask("one", kPatience), "<one>");
  EXPECT_EQ(*client.Ask("two", kPatience), "<two>");
}

TEST(LineClientTest, SaysThatItWasSentAway) {
  const ServerThread server(PathHere());
  auto client = *LineClient::Connect(PathHere());
  const std::string longer(LineServer::kMaxLineBytes + 1, 'x');
  EXPECT_EQ(*client.Ask(longer, kPatience), "too long");
  EXPECT_FALSE(client.Ask("again", kPatience).ok());
}

TEST(LineClientTest, GivesUpOnAServerThatDoesNotAnswer) {
  const auto server = *LineServer::Create(PathHere(), nullptr, "");
  auto client = *LineClient::Connect(PathHere());
  const auto answer = client.Ask("hello", milliseconds(20));
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(LineClientTest, SaysThatThereIsNobody) {
  const auto client = LineClient::Connect("/no/such/socket");
  EXPECT_THAT(std::string(client.status().message()),
              HasSubstr("control socket /no/such/socket: connect: No such"));
}

}  // namespace
}  // namespace weir
