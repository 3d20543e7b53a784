#include "weir/topo/sysfs.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

// A tree that looks like /sys of a machine with one two-port card (mlx4_0, both
// ports one PCI function) and one veth.
class SysfsTest : public ::testing::Test {
 protected:
  SysfsTest() : root_(fs::path(::testing::TempDir()) / UniqueName()) {
    const fs::path pci = root_ / "devices/0000:3b:00.0";
    Write(pci / "numa_node", "1\n");
    AddCardNetdev("ens1", "0", "9000");
    AddCardNetdev("ens1d1", "1", "1500");
    fs::create_directories(pci / "infiniband/mlx4_0/ports/1");
    fs::create_directories(pci / "infiniband/mlx4_0/ports/2");
    Link("class/infiniband/mlx4_0", pci / "infiniband/mlx4_0");
    fs::create_directory_symlink(pci, pci / "infiniband/mlx4_0/device");
    Link("bus/pci/devices/0000:3b:00.0", pci);
    Write(root_ / "class/net/veth0/type", "1\n");
    Write(root_ / "class/net/veth0/mtu", "1500\n");
    Write(root_ / "class/net/veth0/address", "02:00:00:00:00:01\n");
    Write(root_ / "class/net/lo/type", "772\n");
    Write(root_ / "class/net/lo/mtu", "65536\n");
  }
  ~SysfsTest() override { fs::remove_all(root_); }

  Sysfs sysfs() const { return Sysfs(root_.string()); }

  fs::path root_;

 private:
  static std::string UniqueName() {
    return std::string("sysfs_") +
           ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }

  void AddCardNetdev(const std::string& name, const std::string& dev_port,
                     const std::string& mtu) {
    const fs::path pci = root_ / "devices/0000:3b:00.0";
    const fs::path netdev = pci / "net" / name;
    Write(netdev / "type", "1\n");
    Write(netdev / "mtu", mtu + "\n");
    Write(netdev / "address", "02:00:00:00:00:0" + dev_port + "\n");
    Write(netdev / "dev_port", dev_port + "\n");
    fs::create_directory_symlink(pci, netdev / "device");
    Link("class/net/" + name, netdev);
  }

  void Link(const std::string& path, const fs::path& target) {
    fs::create_directories((root_ / path).parent_path());
    fs::create_directory_symlink(target, root_ / path);
  }

  static void Write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
};

TEST_F(SysfsTest, ListsEthernetNetdevsOnly) {
  EXPECT_THAT(sysfs().EthernetNetdevs(),
              ElementsAre("ens1", "ens1d1", "veth0"));
}

TEST_F(SysfsTest, ReadsTheFactsOfANetdev) {
  const auto card = sysfs().Netdev("ens1");
  ASSERT_TRUE(card.has_value());
  EXPECT_EQ(card->mtu_bytes, 9000u);
  EXPECT_EQ(card->mac, "02:00:00:00:00:00");
  EXPECT_EQ(card->numa_node, 1);
  const auto veth = sysfs().Netdev("veth0");
  ASSERT_TRUE(veth.has_value());
  EXPECT_EQ(veth->numa_node, -1);
}

TEST_F(SysfsTest, KnowsNoNetdevByAPath) {
  for (const char* name : {"", ".", "..", "../net/veth0", "eth9", "net/lo"}) {
    EXPECT_FALSE(sysfs().Netdev(name).has_value()) << name;
  }
}

TEST_F(SysfsTest, FindsTheNetdevOfEachPortByDevPort) {
  EXPECT_EQ(sysfs().NetdevOf({"mlx4_0", 1}), "ens1");
  EXPECT_EQ(sysfs().NetdevOf({"mlx4_0", 2}), "ens1d1");
  EXPECT_EQ(sysfs().NetdevOf({"mlx4_0", 3}), "");
  EXPECT_EQ(sysfs().NetdevOf({"mlx5_9", 1}), "");
}

TEST_F(SysfsTest, FallsBackToDevIdWhereAllDevPortsAreZero) {
  const fs::path pci = root_ / "devices/0000:3b:00.0/net";
  std::ofstream(pci / "ens1d1/dev_port") << "0\n";
  std::ofstream(pci / "ens1/dev_id") << "0x0\n";
  std::ofstream(pci / "ens1d1/dev_id") << "0x1\n";
  EXPECT_EQ(sysfs().NetdevOf({"mlx4_0", 1}), "ens1");
  EXPECT_EQ(sysfs().NetdevOf({"mlx4_0", 2}), "ens1d1");
}

TEST_F(SysfsTest, FindsTheRdmaPortOfANetdev) {
  EXPECT_THAT(sysfs().RdmaPortsOf("ens1d1"),
              ElementsAre(RdmaPort{"mlx4_0", 2}));
  EXPECT_THAT(sysfs().RdmaPortsOf("veth0"), IsEmpty());
}

TEST_F(SysfsTest, TellsNumaNodes) {
  EXPECT_EQ(sysfs().NumaNodeOfRdma("mlx4_0"), 1);
  EXPECT_EQ(sysfs().NumaNodeOfPci("0000:3b:00.0"), 1);
  EXPECT_EQ(sysfs().NumaNodeOfRdma("mlx5_9"), -1);
  EXPECT_EQ(sysfs().NumaNodeOfPci("../../devices/0000:3b:00.0"), -1);
}

TEST(SysfsOfThisMachineTest, ShowsNoLoopback) {
  for (const std::string& name : Sysfs().EthernetNetdevs()) {
    EXPECT_NE(name, "lo");
    EXPECT_TRUE(Sysfs().Netdev(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace weir
