#include "weir/hca/backend/null.h"

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/frame.h"
#include "weir/hca/device_key.h"

namespace weir::hca {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<std::unique_ptr<Backend>> Open(const std::string& key) {
  return OpenNull(ParseDeviceKey(key).value());
}

std::vector<Bytes> Take(Backend& backend, size_t max) {
  const auto frames = backend.Receive(max);
  std::vector<Bytes> bytes;
  for (const RxFrame& frame : frames) {
    bytes.emplace_back(frame.data, frame.data + frame.length_bytes);
  }
  backend.Consume(frames.size());
  return bytes;
}

// Frame `number` of a device of `flows`.
Bytes Expected(size_t number, size_t flows, size_t payload_bytes) {
  const net::MacAddress to = {{2, 0, 0, 0, 0, 2}};
  const net::MacAddress from = {{2, 0, 0, 0, 0, 1}};
  const Bytes zeros(payload_bytes);
  return Frame()
      .Eth(to, from)
      .Ipv4("192.0.2.1", "192.0.2.2", {.dont_fragment = true})
      .Udp(static_cast<uint16_t>(1000 + number % flows), 2000)
      .Raw(zeros)
      .Build();
}

TEST(NullTest, GivesFramesOfEachFlowInTurn) {
  for (const size_t flows : {1u, 2u, 3u, 63u, 64u, 65u, 1000u}) {
    auto backend = Open("null:,flows=" + std::to_string(flows));
    ASSERT_TRUE(backend.ok()) << backend.status();
    size_t number = 0;
    for (size_t round = 0; round < 100; ++round) {
      for (const Bytes& frame : Take(**backend, 1 + round % 64)) {
        ASSERT_EQ(frame, Expected(number, flows, 64 - 42)) << number;
        ++number;
      }
    }
    EXPECT_GT(number, 2 * flows);
  }
}

TEST(NullTest, GivesNoMoreThanAskedForAndTheSameAgainUntilItIsTaken) {
  auto backend = Open("null:,flows=5");
  ASSERT_TRUE(backend.ok()) << backend.status();
  const auto first = (*backend)->Receive(3);
  ASSERT_EQ(first.size(), 3u);
  const auto again = (*backend)->Receive(200);
  EXPECT_EQ(again.size(), 64u);
  EXPECT_EQ(again.data(), first.data());
  (*backend)->Consume(1);
  EXPECT_EQ((*backend)->Receive(1)[0].data, again[1].data);
}

TEST(NullTest, RefusesNumbersOfFlowsOutOfRange) {
  for (const char* flows : {"0", "4097", "x"}) {
    const auto backend = Open(std::string("null:,flows=") + flows);
    EXPECT_THAT(std::string(backend.status().message()), HasSubstr("flows"));
    EXPECT_FALSE(backend.ok());
  }
}

}  // namespace
}  // namespace weir::hca
