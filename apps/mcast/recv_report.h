// What `mcast recv` says of its groups: rates, a table, JSON.

#ifndef APPS_MCAST_RECV_REPORT_H_
#define APPS_MCAST_RECV_REPORT_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "apps/mcast/recv_pipeline.h"
#include "weir/app/port_groups.h"
#include "weir/net/ip_text.h"
#include "weir/stage/stream/sequence_counts.h"
#include "weir/stage/udp/group_counts.h"

namespace weir::mcast {

// Control thread only.
class RecvReport {
 public:
  // Of datagrams to `udp_port` that go `to`, as --to says.
  RecvReport(Reception reception, uint16_t udp_port, std::string to);

  // A line a group: datagrams and payload bits a second since the last call.
  std::string Rates();
  // All in all: a line a group, and one on delivery.
  std::string Table() const;
  // Members "groups" and "delivery" of the report, as JSON.
  std::string GroupsJson() const;
  std::string DeliveryJson() const;

 private:
  // A group that is joined, or of which something came.
  struct Line {
    net::IpAddress group;
    std::string method;
    GroupInterest interest;
    GroupCount count;
  };
  std::vector<Line> Lines() const;
  // Of all ports.
  uint64_t Refreshes() const;

  Reception reception_;
  uint16_t udp_port_;
  std::string to_;
  std::chrono::steady_clock::time_point last_;
  std::map<net::IpAddress, GroupCount> before_;
  SequenceTotals numbers_before_;
};

}  // namespace weir::mcast

#endif  // APPS_MCAST_RECV_REPORT_H_
