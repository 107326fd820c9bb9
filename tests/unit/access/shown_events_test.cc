#include "services/rest/access/shown_events.h"

#include <string>

#include <gtest/gtest.h>

namespace railweave::api {
namespace {

EventReader member(const std::string& tenant, const std::string& name) { return {control::Role::member, tenant, name}; }

db::Record put_tenant(std::uint64_t seq, const std::string& tenant, const std::string& actor) {
  return {seq, 1, 0, actor, "tenant.put", 1, "tenant", tenant, R"({"summary":"s","severity":"info","data":{}})"};
}

TEST(ShownEvents, AreMadeOnceForEachKindOfViewer) {
  control::ClusterState state;
  auto tenants = std::make_shared<control::TenantTable>();
  for (const char* name : {"ours", "theirs"}) tenants->insert_or_assign(name, control::Tenant{.name = name});
  state.tenants = std::move(tenants);
  const EventReader viewer{control::Role::viewer, {}, "eyes"}, administrator{control::Role::administrator, {}, "admin"};
  const auto record = put_tenant(7, "ours", "me");
  ShownEvents events;
  for (int stream = 0; stream < 100; ++stream) {
    const auto whole = events.of(state, viewer, record);
    ASSERT_NE(whole, nullptr);
    EXPECT_EQ(events.of(state, viewer, record), whole);
    EXPECT_NE(events.of(state, administrator, record), nullptr);
    const auto bot = "bot-" + std::to_string(stream);
    EXPECT_EQ(events.of(state, member("theirs", bot), record), nullptr);
    const auto other = events.of(state, member("ours", bot), record),
               own = events.of(state, member("ours", "me"), record);
    ASSERT_TRUE(other != nullptr && own != nullptr);
    EXPECT_NE(own->find("\"me\""), std::string::npos);
    EXPECT_EQ(other->find("\"me\""), std::string::npos) << "who did it is shown to itself alone";
  }
  EXPECT_EQ(events.made(), 5U);
  EXPECT_NE(events.of(state, viewer, put_tenant(8, "ours", "me")), events.of(state, viewer, record));
}

}  // namespace
}  // namespace railweave::api
