// What a viewer may not see is in no text that is made for it: every part of every code of the contract, with the names of
// another tenant in it, told to every role.
#include "services/rest/access/viewer.h"

#include <fstream>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/base/message.h"
#include "services/control/codec/message_json.h"
#include "services/json/message_value.h"
#include "services/rest/access/shown_event.h"
#include "tests/unit/access/two_tenants.h"

namespace railweave::api {
namespace {

control::ClusterState with_reservations() {
  control::ClusterState state = two_tenants();
  auto reservations = std::make_shared<control::ReservationTable>();
  for (const char* tenant : {"ours", "theirs", ""}) {
    control::GpuReservation reservation;
    reservation.window.name = std::string("window-of-") + tenant;
    reservation.window.tenant = tenant;
    (*reservations)[reservation.window.name] = reservation;
  }
  state.reservations = reservations;
  return state;
}

const control::ClusterState& state() {
  static const control::ClusterState state = with_reservations();
  return state;
}

// The codes of x-codes in the contract.
std::set<std::string> codes() {
  std::set<std::string> codes;
  std::ifstream file(RAILWEAVE_SOURCE_DIR "/api/openapi.yaml");
  std::ostringstream whole;
  whole << file.rdbuf();
  const std::string text = whole.str();
  const std::size_t from = text.find("\n      x-codes:\n        admission.");
  static const std::regex kLine(R"(^        ([a-z]+\.[a-zA-Z]+): \[)");
  std::istringstream lines(text.substr(from + 1));
  std::string line;
  std::getline(lines, line);
  for (std::smatch match; std::getline(lines, line) && std::regex_search(line, match, kLine);) codes.insert(match[1]);
  return codes;
}

// One of each kind, of the tenant with this job.
std::vector<MessagePart> parts_of(std::uint64_t job, const std::string& tenant) {
  return {JobPart{job, "'SECRET' 49.5 Gb/s"}, TenantPart{tenant}, ReservationPart{"window-of-" + tenant},
          OpaquePart{"SECRET of " + tenant}};
}

std::vector<Viewer> who_see_all() {
  return {Viewer(control::Role::viewer, ""), Viewer(control::Role::fabric_operator, ""),
          Viewer(control::Role::administrator, "")};
}

TEST(Viewer, NoPartOfAnyCodeNamesAnotherTenantToAMember) {
  ASSERT_GT(codes().size(), 30U);
  for (const auto& viewer : {Viewer(control::Role::member, "ours"), Viewer(control::Role::agent, "")}) {
    const MessageReader reader = viewer.reader(state());
    for (const auto& code : codes()) {
      for (const auto& part : parts_of(2, "theirs")) {
        const Message message(code, {"before ", part, " after"});
        for (const std::string& text :
             {message.text(reader), message.public_text(), dump(message_value(message, reader)),
              error_of(ErrorKind::conflict, code, message).text(),
              told(error_of(ErrorKind::conflict, code, message), reader).message}) {
          for (const char* foreign : {"job-000002", "theirs", "SECRET", "49.5"}) {
            EXPECT_EQ(text.find(foreign), std::string::npos) << code << ": " << text;
          }
        }
        EXPECT_TRUE(message.text(reader).starts_with("before ") && message.text(reader).ends_with(" after"));
      }
    }
  }
}

TEST(Viewer, ItsOwnAreToldWhole) {
  const Viewer member(control::Role::member, "ours");
  const MessageReader reader = member.reader(state());
  EXPECT_EQ(part_text(JobPart{1, "5 Gb/s"}, reader), "job-000001 5 Gb/s");
  EXPECT_EQ(part_text(TenantPart{"ours"}, reader), "ours");
  EXPECT_EQ(part_text(ReservationPart{"window-of-ours"}, reader), "window-of-ours");
  EXPECT_EQ(part_text(ReservationPart{"window-of-"}, reader), "window-of-") << "of no tenant: for all";
  EXPECT_EQ(part_text(ReservationPart{"over"}, reader), "a reservation") << "it may have been of anyone";
  EXPECT_EQ(part_text(JobPart{777}, reader), "another tenant's job") << "one that is forgotten may have been of anyone";
  // What a caller called its own is not looked at.
  EXPECT_EQ(Message("job-123456 of theirs").text(reader), "job-123456 of theirs");
  for (const auto& viewer : who_see_all()) {
    for (const auto& part : parts_of(2, "theirs")) {
      EXPECT_EQ(part_text(part, viewer.reader(state())), part_text(part, MessageReader::all()));
    }
  }
}

TEST(Viewer, JobsOfAnEarlierTenantOfThatNameAreAnothers) {
  control::ClusterState later = with_reservations();
  auto tenants = std::make_shared<control::TenantTable>(*later.tenants);
  tenants->at("ours").first_job = 3;
  later.tenants = tenants;
  const Viewer member(control::Role::member, "ours");
  EXPECT_EQ(part_text(JobPart{1}, member.reader(later)), "another tenant's job");
}

// As the journal keeps it: parts, not text.
TEST(Viewer, MessagesOfTheJournalAreToldByTheirParts) {
  const Message said("queue.evictedFor", {"evicted for ", JobPart{2}, " of higher priority"});
  const Message summary("job.evicted", {JobPart{1}, " is queued again, evicted for ", JobPart{2}});
  const std::string payload = dump(Out{{"summary", summary.whole_text()},
                                       {"severity", "warning"},
                                       {"message", to_json(summary)},
                                       {"data", {{"number", 1}, {"inFavourOf", 2}, {"reason", to_json(said)}}}});
  const db::Record record{7, 1, 0, "railweave", "job.evicted", 1, "job", "job-000001", payload};
  const auto ours = shown_event(state(), {control::Role::member, "ours", "me"}, record);
  ASSERT_TRUE(ours);
  EXPECT_EQ(ours->find("job-000002"), std::string::npos) << *ours;
  EXPECT_NE(ours->find("evicted for another tenant's job of higher priority"), std::string::npos) << *ours;
  EXPECT_NE(ours->find(R"({"job":"job-000001"})"), std::string::npos) << *ours;
  EXPECT_NE(ours->find(R"({"job":null})"), std::string::npos) << *ours;
  const auto whole = shown_event(state(), {control::Role::viewer, "", "me"}, record);
  ASSERT_TRUE(whole);
  EXPECT_NE(whole->find(R"("reason":"evicted for job-000002 of higher priority")"), std::string::npos) << *whole;
}

TEST(Viewer, FinishedTextsOfOlderVersionsAreForThoseWhoSeeAll) {
  const std::string payload =
      R"({"summary":"job-000001 is queued again, evicted for job-000002","severity":"info",)"
      R"("data":{"number":1,"reason":"evicted for job-000002","guarantee":{"reason":"job-000002 takes it"}}})";
  const db::Record record{7, 1, 0, "railweave", "job.evicted", 1, "job", "job-000001", payload};
  const auto ours = shown_event(state(), {control::Role::member, "ours", "me"}, record);
  ASSERT_TRUE(ours);
  EXPECT_EQ(ours->find("job-000002"), std::string::npos) << *ours;
  EXPECT_NE(ours->find("written by an earlier version"), std::string::npos) << *ours;
  const auto whole = shown_event(state(), {control::Role::viewer, "", "me"}, record);
  EXPECT_NE(whole->find("evicted for job-000002"), std::string::npos) << *whole;
}

}  // namespace
}  // namespace railweave::api
