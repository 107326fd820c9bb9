#include "fabric/base/message.h"

#include <string>

#include <gtest/gtest.h>

#include "fabric/base/error.h"

namespace railweave {
namespace {

TEST(Message, WordsJoinAndPartsStay) {
  Message message("queue.evictedFor", {"evicted ", "for ", JobPart{12, "5 Gb/s"}, ""});
  message += " of ";
  message += TenantPart{"lab"};
  EXPECT_EQ(message.parts().size(), 4U);
  EXPECT_EQ(message.whole_text(), "evicted for job-000012 5 Gb/s of lab");
  EXPECT_EQ(message.public_text(), "evicted for another tenant's job of another tenant");
  EXPECT_EQ(("why: " + message + "!").whole_text(), "why: evicted for job-000012 5 Gb/s of lab!");
  EXPECT_TRUE(Message("").empty());
  EXPECT_EQ(Message(message).with_code("x.y").code(), "x.y");
}

TEST(Message, AReaderThatIsNotToldWhatItMaySeeSeesNothing) {
  const MessageReader none;
  for (const auto& part : {MessagePart(JobPart{1}), MessagePart(TenantPart{"a"}), MessagePart(ReservationPart{"r"}),
                           MessagePart(OpaquePart{"t"})}) {
    EXPECT_FALSE(none.sees(part));
    EXPECT_TRUE(MessageReader::all().sees(part));
  }
  for (const auto& part : {MessagePart(NodePart{"n"}), MessagePart(LinkPart{"l"}), MessagePart(AmountPart{8, "GPUs"}),
                           MessagePart(std::string("words"))}) {
    EXPECT_TRUE(none.sees(part));
  }
  EXPECT_EQ(part_text(AmountPart{8, "GPUs"}, none), "8 GPUs");
}

TEST(Message, LedgersNamesBecomeParts) {
  EXPECT_EQ(job_part("job-000012", "note"), MessagePart(JobPart{12, "note"}));
  EXPECT_EQ(job_part("job-1234567"), MessagePart(JobPart{1234567}));
  for (const char* name : {"job-12", "job-", "train", "job-000012x", "job-0000012", ""}) {
    EXPECT_TRUE(std::holds_alternative<OpaquePart>(job_part(name))) << name;
  }
}

TEST(Message, AnErrorsMessageIsWhatAnyoneMayRead) {
  Error error = error_of(ErrorKind::conflict, "a.b", Message("", {"full of ", JobPart{3}}), "/x", "wait");
  EXPECT_EQ(error.message, "full of another tenant's job");
  EXPECT_EQ(error.whole().whole_text(), "full of job-000003");
  error.append("; more");
  EXPECT_EQ(error.text(), "/x: full of another tenant's job; more (wait)");
  EXPECT_EQ(error.whole().whole_text(), "full of job-000003; more");
}

}  // namespace
}  // namespace railweave
