#include "services/slurm/ranks/admin_comment.h"

#include <gtest/gtest.h>

namespace railweave::slurm {
namespace {

TEST(AdminComment, KeepsWhatOthersWrote) {
  for (const char* text :
       {"railweave: job-000004 on n1 | {\"cost\": 12} | seen", "{\"cost\": 12} | railweave: job-000004 on n1 | seen",
        "{\"cost\": 12} | seen | railweave: job-000004 on n1"}) {
    const AdminComment parts = split_admin_comment(text);
    EXPECT_EQ(parts.mark, "railweave: job-000004 on n1");
    EXPECT_EQ(parts.others, "{\"cost\": 12} | seen");
    EXPECT_EQ(join_admin_comment("railweave: waits", parts.others), "railweave: waits | {\"cost\": 12} | seen");
  }
}

TEST(AdminComment, OneOfOthersAloneIsNoMark) {
  EXPECT_EQ(split_admin_comment("about railweave: nothing").mark, "");
  EXPECT_EQ(split_admin_comment("about railweave: nothing").others, "about railweave: nothing");
  EXPECT_EQ(split_admin_comment("").others, "");
  EXPECT_EQ(join_admin_comment("railweave: waits", ""), "railweave: waits");
}

}  // namespace
}  // namespace railweave::slurm
