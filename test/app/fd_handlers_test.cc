#include "weir/app/fd_handlers.h"

#include <poll.h>

#include <vector>

#include "gtest/gtest.h"

namespace weir {
namespace {

// What poll(2) would say of every handler.
std::vector<pollfd> AllReady(const FdHandlers& handlers) {
  std::vector<pollfd> polled;
  handlers.AppendTo(polled);
  for (pollfd& each : polled) each.revents = each.events;
  return polled;
}

TEST(FdHandlersTest, CallsOnlyThoseThatAreReady) {
  FdHandlers handlers;
  int calls = 0;
  handlers.Add(3, POLLIN, [&](short) { ++calls; });
  handlers.Add(4, POLLOUT, [&](short) { calls += 100; });
  std::vector<pollfd> polled = AllReady(handlers);
  polled[1].revents = 0;
  EXPECT_EQ(handlers.Call(polled), 1u);
  EXPECT_EQ(calls, 1);
}

TEST(FdHandlersTest, LetsAHandlerRemoveItselfAndOthers) {
  FdHandlers handlers;
  int calls = 0;
  handlers.Add(3, POLLIN, [&](short) {
    handlers.Remove(4);
    handlers.Remove(3);
    ++calls;
  });
  handlers.Add(4, POLLIN, [&](short) { calls += 100; });
  EXPECT_EQ(handlers.Call(AllReady(handlers)), 1u);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(handlers.size(), 0u);
}

TEST(FdHandlersTest, ReplacesTheHandlerOfADescriptor) {
  FdHandlers handlers;
  int calls = 0;
  handlers.Add(3, POLLIN, [&](short) { calls += 100; });
  handlers.Add(3, POLLIN, [&](short) { ++calls; });
  handlers.Call(AllReady(handlers));
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace weir
