// Ports that are read again after reports, where the switch behind a lost cable is gone with all of its cables and so are the reports of
// its other neighbours.
#include <vector>

#include "tests/unit/infiniband/small_subnet.h"

namespace railweave::fabric::infiniband {
namespace {

class PortRecheckTest : public SmallSubnetTest {
 protected:
  static Guid guid(int sw) { return Guid(0x2000U + static_cast<unsigned>(sw - kLeaf1)); }

  void lose_spine1() {
    driver();
    for (const int leaf : {kLeaf1, kLeaf2}) subnet_->cut(leaf, 3);
    lost_at_ = subnet_->now();
  }
  void expect_spine1_is_gone(const Result<std::optional<Sweep>>& rechecked) {
    ASSERT_TRUE(rechecked);
    ASSERT_TRUE(*rechecked);
    EXPECT_TRUE((*rechecked)->changed);
    EXPECT_FALSE(driver().is_present(guid(kSpine1)));
    EXPECT_TRUE(driver().is_present(guid(kLeaf2))) << "by the other spine";
    for (const int leaf : {kLeaf1, kLeaf2}) {
      EXPECT_TRUE(driver().read_link(guid(leaf), 3).known);
      EXPECT_FALSE(driver().read_link(guid(leaf), 3).up);
      EXPECT_TRUE(driver().read_link(guid(leaf), 4).up);
    }
    EXPECT_LT(subnet_->now() - lost_at_, Milliseconds(50)) << "it was waited for";
  }
  TimePoint lost_at_;
};

TEST_F(PortRecheckTest, ASwitchThatIsGoneIsFoundByOneReport) {
  lose_spine1();
  expect_spine1_is_gone(driver().recheck(std::vector{guid(kLeaf1)}, {}));
}

TEST_F(PortRecheckTest, ASwitchThatDoesNotAnswerIsFoundGoneByItsNeighbours) {
  lose_spine1();
  expect_spine1_is_gone(driver().recheck({}, std::vector{guid(kSpine1)}));
}

TEST_F(PortRecheckTest, ASwitchThatHasOtherCablesStaysPresent) {
  driver();
  subnet_->cut(kLeaf1, 3);
  const auto rechecked = driver().recheck(std::vector{guid(kLeaf1)}, {});
  ASSERT_TRUE(rechecked);
  ASSERT_TRUE(*rechecked);
  EXPECT_TRUE(driver().is_present(guid(kSpine1)));
  EXPECT_TRUE(driver().read_link(guid(kLeaf2), 3).up);
}

TEST_F(PortRecheckTest, ASwitchThatIsSilentWithItsCablesUpIsNotSaidToBeGone) {
  ASSERT_TRUE(driver().sweep());
  subnet_->node(kSpine1).silent = true;
  const auto rechecked = driver().recheck({}, std::vector{guid(kSpine1)});
  ASSERT_TRUE(rechecked);
  ASSERT_TRUE(*rechecked);
  EXPECT_FALSE((*rechecked)->changed);
  EXPECT_TRUE(driver().read_link(guid(kLeaf1), 3).up);
}

}  // namespace
}  // namespace railweave::fabric::infiniband
