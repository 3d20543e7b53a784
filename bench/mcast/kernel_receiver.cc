// A receiver as it is without weir: a UDP socket that joined a group, emptied
// by recvmmsg. Prints what came in a time, as JSON.

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace {

constexpr unsigned kMessages = 64;
constexpr size_t kMessageBytes = 65536;

double Seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

[[noreturn]] void Fail(const char* call) {
  std::perror(call);
  std::exit(1);
}

int Join(const char* group, const char* port, const char* netdev) {
  const int receiver = socket(AF_INET, SOCK_DGRAM, 0);
  if (receiver < 0) Fail("socket");
  ip_mreqn member{};
  inet_pton(AF_INET, group, &member.imr_multiaddr);
  member.imr_ifindex = static_cast<int>(if_nametoindex(netdev));
  if (setsockopt(receiver, IPPROTO_IP, IP_ADD_MEMBERSHIP, &member,
                 sizeof member) != 0) {
    Fail("IP_ADD_MEMBERSHIP");
  }
  const int bytes = 8 << 20;
  setsockopt(receiver, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
  // So that the loop looks at the clock.
  const timeval patience{0, 100'000};
  setsockopt(receiver, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(static_cast<uint16_t>(std::atoi(port)));
  if (bind(receiver, reinterpret_cast<sockaddr*>(&any), sizeof any) != 0) {
    Fail("bind");
  }
  return receiver;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: kernel_receiver GROUP PORT NETDEV SECONDS\n", stderr);
    return 1;
  }
  const int receiver = Join(argv[1], argv[2], argv[3]);
  std::vector<char> bytes(kMessages * kMessageBytes);
  std::vector<iovec> pieces(kMessages);
  std::vector<mmsghdr> messages(kMessages);
  for (unsigned i = 0; i < kMessages; ++i) {
    pieces[i] = {bytes.data() + i * kMessageBytes, kMessageBytes};
    messages[i].msg_hdr.msg_iov = &pieces[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  uint64_t datagrams = 0;
  uint64_t payload_bytes = 0;
  const double begin = Seconds(CLOCK_MONOTONIC);
  const double end = begin + std::atof(argv[4]);
  double now = begin;
  while ((now = Seconds(CLOCK_MONOTONIC)) < end) {
    const int count =
        recvmmsg(receiver, messages.data(), kMessages, MSG_WAITFORONE, nullptr);
    for (int i = 0; i < count; ++i) {
      payload_bytes += messages[static_cast<unsigned>(i)].msg_len;
    }
    if (count > 0) datagrams += static_cast<uint64_t>(count);
  }
  std::printf(
      "{\"seconds\": %f, \"datagrams\": %llu, \"bytes\": %llu, "
      "\"cpu_seconds\": %f}\n",
      now - begin, static_cast<unsigned long long>(datagrams),
      static_cast<unsigned long long>(payload_bytes),
      Seconds(CLOCK_PROCESS_CPUTIME_ID));
  return 0;
}
