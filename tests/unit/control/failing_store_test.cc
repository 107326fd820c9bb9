// What the control loop answers when its store fails, and that nothing is half done then.
#include <atomic>
#include <new>

#include "tests/unit/control/control_fixture.h"

namespace railweave::control::failing_store_test {
namespace {

// A store that fails when told to, before or after the real append.
class FailingJournal final : public db::Journal {
 public:
  explicit FailingJournal(std::unique_ptr<db::Journal> real) : real_(std::move(real)) {}

  std::atomic<int> fail_before{0};  // appends that fail without writing
  std::atomic<int> fail_after{0};   // appends that fail although they were written
  std::atomic<bool> no_memory{false};

  Result<void> append(const db::Batch& batch) override {
    if (no_memory.exchange(false)) throw std::bad_alloc();
    if (fail_before > 0) {
      --fail_before;
      return fail(ErrorKind::unavailable, "db.full", "planted: disk full");
    }
    auto result = real_->append(batch);
    if (result && fail_after > 0) {
      --fail_after;
      return fail(ErrorKind::internal, "db.io", "planted: fsync failed");
    }
    return result;
  }
  Result<std::vector<db::Record>> read(const db::ReadFilter& filter) override { return real_->read(filter); }
  Result<std::uint64_t> last_seq() override { return real_->last_seq(); }
  Result<void> save_snapshot(const db::Snapshot& snapshot) override { return real_->save_snapshot(snapshot); }
  Result<std::optional<db::Snapshot>> latest_snapshot() override { return real_->latest_snapshot(); }
  Result<std::optional<std::string>> blob(const std::string& digest) override { return real_->blob(digest); }

 private:
  std::unique_ptr<db::Journal> real_;
};

class FailingStoreTest : public ControlTest {
 protected:
  std::unique_ptr<db::Journal> wrap(std::unique_ptr<db::Journal> journal) override {
    auto failing = std::make_unique<FailingJournal>(std::move(journal));
    failing_ = failing.get();
    return failing;
  }
  FailingJournal* failing_ = nullptr;
};

TEST_F(FailingStoreTest, AFailedAppendIsAnsweredAsUnavailableAndChangesNothing) {
  start();
  must(accept(star_of_hosts(2, 8)));
  must(PutTenant{{.name = "t", .description = {}, .max_gpus = {}}, {}});
  const std::string before = state_text();
  failing_->fail_before = 1;
  const auto result = ask(submit_job("t", 8, 1));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().error.kind, ErrorKind::unavailable);
  EXPECT_EQ(state_text(), before);
  EXPECT_EQ(loop_->phase(), Phase::store_failed);
  must(submit_job("t", 8, 1));
  EXPECT_EQ(loop_->phase(), Phase::ready);
  EXPECT_EQ(loop_->state()->jobs.size(), 1U);
}

TEST_F(FailingStoreTest, NoMemoryEndsTheRequestNotTheService) {
  start();
  must(accept(star_of_hosts(2, 8)));
  const std::string before = state_text();
  failing_->no_memory = true;
  const auto result = ask(PutTenant{{.name = "t", .description = {}, .max_gpus = {}}, {}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().error.code, "service.outOfMemory");
  EXPECT_EQ(state_text(), before);
  must(PutTenant{{.name = "t", .description = {}, .max_gpus = {}}, {}});
}

TEST_F(FailingStoreTest, AnAppendThatFailedAfterWritingIsFoundAgain) {
  std::vector<std::uint64_t> published;
  ControlOptions options;
  options.on_published = [&](const std::vector<db::Record>& records) {
    for (const auto& record : records) published.push_back(record.seq);
  };
  start(options);
  must(accept(star_of_hosts(2, 8)));
  must(PutTenant{{.name = "t", .description = {}, .max_gpus = {}}, {}});
  failing_->fail_after = 1;
  EXPECT_FALSE(ask(submit_job("t", 8, 1, "once")));
  const auto again = ask(submit_job("t", 8, 1, "once"));  // the same request, repeated as the answer said
  ASSERT_TRUE(again) << again.error().error.text();
  EXPECT_TRUE(again->replayed);
  EXPECT_EQ(loop_->state()->jobs.size(), 1U);
  EXPECT_EQ(loop_->state()->free_gpus, 8U);
  ASSERT_FALSE(published.empty());
  for (std::size_t i = 0; i < published.size(); ++i) EXPECT_EQ(published[i], i + 1) << "watchers miss nothing";
  EXPECT_EQ(published.size(), loop_->state()->seq);
}

}  // namespace
}  // namespace railweave::control::failing_store_test
