#include "fabric/formats/infiniband/host_names.h"

#include <gtest/gtest.h>

namespace railweave::fabric::host_names_test {
namespace {

using Kind = AdapterIdentity::Kind;

TEST(AdapterIdentity, TakesHostAndDeviceApart) {
  const auto identity = identify_adapter("node-7 mlx5_5");
  EXPECT_EQ(identity.kind, Kind::named);
  EXPECT_EQ(identity.host, "node-7");
  EXPECT_EQ(identity.device, "mlx5_5");
  EXPECT_EQ(identify_adapter("node-7 HCA-6").device, "HCA-6");
  EXPECT_EQ(identify_adapter("  node-7\t mlx5_0 ").device, "mlx5_0");
  EXPECT_EQ(identify_adapter("node-7").host, "node-7");
  EXPECT_EQ(identify_adapter("node-7").device, "");
  EXPECT_EQ(identify_adapter("node-7 mlx5_0 port 1").host, "node-7");
}

TEST(AdapterIdentity, KnowsTextsThatNameNoMachine) {
  for (const char* text :
       {"", "   ", "MT4129 ConnectX7   Mellanox Technologies", "MT25408 ConnectX Mellanox Technologies", "localhost",
        "localhost HCA-1", "localhost.localdomain mlx5_0", "ubuntu mlx5_1", "(none) mlx5_0", "Mellanox ConnectX-6",
        "Voltaire HCA410", "some long text about nothing"}) {
    EXPECT_EQ(identify_adapter(text).kind, Kind::generic) << text;
  }
  EXPECT_EQ(identify_adapter("localhost HCA-1").device, "HCA-1");
  EXPECT_EQ(identify_adapter("MTA-node mlx5_0").kind, Kind::named);  // starts as a chip's name does, and is none
  EXPECT_EQ(identify_adapter("Mellanox Technologies Aggregation Node").kind, Kind::aggregation);
  EXPECT_EQ(identify_adapter("Quantum Aggregation Node").kind, Kind::aggregation);
}

TEST(SwitchName, IsTakenFromTheDescription) {
  EXPECT_EQ(switch_name("MF0;A09-LEAF-04:MQM9701/U1"), "A09-LEAF-04");
  EXPECT_EQ(switch_name("MF0;core:CS8500/L03/U1"), "core/L03/U1");
  EXPECT_EQ(switch_name("MF0;odd"), "odd");
  EXPECT_EQ(switch_name("Voltaire 4036 # 4036-8C5C"), "Voltaire 4036 # 4036-8C5C");
  EXPECT_EQ(switch_name("Infiniscale-IV Mellanox Technologies"), "");
  EXPECT_EQ(switch_name("Voltaire 4036 - 36 QDR ports switch"), "");
  EXPECT_EQ(switch_name(" spine-1 "), "spine-1");
  EXPECT_EQ(switch_name(""), "");
}

TEST(HostKindGuess, FollowsFromWordsOfTheName) {
  for (const char* name : {"selene-ufm-s-01", "B11-P1-CUFM-02", "login3", "mgmt01", "slurm-ctl", "headnode"}) {
    EXPECT_EQ(guess_host_kind(name), HostKind::management) << name;
  }
  for (const char* name : {"ai400x-157", "selene-cache-04", "lustre-oss3", "OST12", "nfs2", "mds1", "storage7"}) {
    EXPECT_EQ(guess_host_kind(name), HostKind::storage) << name;
  }
  for (const char* name :
       {"dgx-01", "luna-0123", "ghost-1", "hostess", "slurm-worker-3", "cosmos1", "a05-p1-dgx-01-c01", ""}) {
    EXPECT_EQ(guess_host_kind(name), HostKind::compute) << name;
  }
}

}  // namespace
}  // namespace railweave::fabric::host_names_test
