#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/slurm/node_sync.h"

namespace railweave::slurm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = NodeChange::Kind;

const NodePatience kPatience{.trouble_s = 10, .calm_s = 100, .most = 2};

std::map<std::string, NodeLook> one(NodeLook look) {
  look.known = true;
  return {{"n1", look}};
}
const NodeLook kWell{.slurm_state = "idle", .slurm_reason = "none"};

TEST(NodePlan, PassesOnWhatLastsAndTakesItBackWhenItIsCalm) {
  NodePlan plan(kPatience);
  NodeLook down = kWell;
  down.link_down = true;
  EXPECT_THAT(plan.next(one(down), 1000), IsEmpty());
  EXPECT_THAT(plan.next(one(kWell), 1005), IsEmpty()) << "it flapped";
  EXPECT_THAT(plan.next(one(down), 1010), IsEmpty());
  EXPECT_THAT(plan.next(one(down), 1020),
              ElementsAre(NodeChange{Kind::drain_in_slurm, "n1", "railweave: a link of its GPUs is down or drained"}));
  NodeLook drained = down;
  drained.slurm_state = "drained";
  drained.slurm_reason = "railweave: a link of its GPUs is down or drained";
  EXPECT_THAT(plan.next(one(drained), 1030), IsEmpty()) << "no echo";
  drained.link_down = false;
  EXPECT_THAT(plan.next(one(drained), 1040), IsEmpty());
  EXPECT_THAT(plan.next(one(drained), 1139), IsEmpty());
  EXPECT_THAT(plan.next(one(drained), 1140), ElementsAre(NodeChange{Kind::resume_in_slurm, "n1", ""}));
}

TEST(NodePlan, LeavesWhatAPersonDid) {
  NodePlan plan(kPatience);
  NodeLook own = kWell;  // drained in Slurm, the reason rewritten by a person, and well in Railweave
  own.slurm_state = "drained";
  own.slurm_reason = "bad fan";
  own.drained = true;
  own.drain_reason = "replace GPU 3";  // and drained in Railweave by another
  for (const std::int64_t now : {1000, 1100, 2000, 3000}) EXPECT_THAT(plan.next(one(own), now), IsEmpty()) << now;
  // Resumed by hand while Railweave still drains it: not drained again.
  NodePlan other(kPatience);
  NodeLook drain = kWell;
  drain.drained = true;
  drain.drain_reason = "replace GPU 3";
  other.next(one(drain), 1000);
  EXPECT_THAT(other.next(one(drain), 1010),
              ElementsAre(NodeChange{Kind::drain_in_slurm, "n1", "railweave: replace GPU 3"}));
  EXPECT_THAT(other.next(one(drain), 1500), IsEmpty());
}

TEST(NodePlan, TellsRailweaveOfNodesThatAreDownInSlurm) {
  NodePlan plan(kPatience);
  NodeLook down = kWell;
  down.slurm_state = "down*";
  down.slurm_reason = "Not responding";
  plan.next(one(down), 1000);
  EXPECT_THAT(plan.next(one(down), 1010),
              ElementsAre(NodeChange{Kind::drain_in_railweave, "n1", "slurm: down*, Not responding"}));
  NodeLook back = kWell;
  back.drained = true;
  back.drain_reason = "slurm: down*, Not responding";
  EXPECT_THAT(plan.next(one(back), 1020), ElementsAre(NodeChange{Kind::undrain_in_railweave, "n1", ""}))
      << "Slurm begins jobs there already";
}

TEST(NodePlan, IsBoundedAndKnowsOnlyNodesOfBoth) {
  NodePlan plan({.trouble_s = 0, .calm_s = 0, .most = 2});
  std::map<std::string, NodeLook> nodes;
  for (const char* name : {"a", "b", "c"})
    nodes[name] = {.slurm_state = "idle", .slurm_reason = "none", .known = true, .link_down = true};
  nodes["d"] = {.slurm_state = "down", .slurm_reason = "none"};
  nodes["e"] = {.known = true, .link_down = true};
  EXPECT_EQ(plan.next(nodes, 1000).size(), 2U);
  EXPECT_THAT(plan.next(nodes, 1001),
              ElementsAre(NodeChange{Kind::drain_in_slurm, "c", "railweave: a link of its GPUs is down or drained"}));
}

}  // namespace
}  // namespace railweave::slurm
