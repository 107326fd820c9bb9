// Two leaves, two spines of four ports, four adapters, and a driver beside them.
#pragma once

#include <algorithm>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/mad.h>

#include "fabric/drivers/infiniband/infiniband_driver.h"
#include "tests/unit/infiniband/memory_subnet.h"

namespace railweave::fabric::infiniband {

class SmallSubnetTest : public testing::Test {
 protected:
  static constexpr int kLeaf1 = 4, kLeaf2 = 5, kSpine1 = 6, kSpine2 = 7;

  SmallSubnetTest() {
    auto owned = std::make_unique<MemorySubnet>();
    subnet_ = owned.get();
    port_ = std::move(owned);
    for (unsigned i = 0; i < 4; ++i) subnet_->add_adapter(0x1000U + 16 * i, 1, "node-" + std::to_string(i) + " mlx5_0");
    for (unsigned i = 0; i < 4; ++i) subnet_->add_switch(0x2000U + i, 4, "switch-" + std::to_string(i));
    for (int i = 0; i < 4; ++i) subnet_->cable(i, 1, i < 2 ? kLeaf1 : kLeaf2, static_cast<unsigned>(1 + i % 2));
    for (const int leaf : {kLeaf1, kLeaf2}) {
      subnet_->cable(leaf, 3, kSpine1, static_cast<unsigned>(leaf - kLeaf1 + 1));
      subnet_->cable(leaf, 4, kSpine2, static_cast<unsigned>(leaf - kLeaf1 + 1));
    }
    for (int n = 0; n < 8; ++n) subnet_->node(n).ports[n < 4 ? 1 : 0].lid = static_cast<unsigned>(n + 1);
  }
  InfinibandDriver& driver(InfinibandOptions options = {.mode = SubnetMode::direct}) {
    if (!driver_) {
      options.exchange = {.window = 16, .timeout = Milliseconds(100), .attempts = 4};
      driver_ = std::make_unique<InfinibandDriver>(std::move(port_), options);
      EXPECT_TRUE(driver_->discover());
    }
    return *driver_;
  }
  static PortRef port(int n, unsigned number) {
    const unsigned guid = n < 4 ? 0x1000U + 16 * static_cast<unsigned>(n) : 0x2000U + static_cast<unsigned>(n - kLeaf1);
    return {Guid(guid), static_cast<std::uint8_t>(number)};
  }
  std::size_t sets() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(subnet_->asked, [](const auto& asked) { return asked.method == IB_MAD_METHOD_SET; }));
  }
  MemorySubnet* subnet_ = nullptr;
  std::unique_ptr<MadPort> port_;
  std::unique_ptr<InfinibandDriver> driver_;
};

}  // namespace railweave::fabric::infiniband
