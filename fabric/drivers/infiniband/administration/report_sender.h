// Tells subscribers of notices by reports, and again until they answer: a bounded number of reports at once, each a bounded number of times. Pure:
// time is an input, and what is to be sent is handed to a function.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "fabric/drivers/infiniband/administration/sa_client.h"
#include "fabric/drivers/infiniband/administration/sa_mad.h"
#include "fabric/drivers/infiniband/administration/subnet_notice.h"

namespace railweave::fabric::infiniband {

struct ReportOptions {
  std::size_t max_reports = 16'384;  // that are not answered yet; one more is not sent
  std::size_t max_of_client = 256;
  std::chrono::milliseconds timeout{500};
  unsigned attempts = 4;
};

class ReportSender {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Send = std::function<void(const SaClient&, const Mad&)>;
  struct Counts {
    std::uint64_t reports = 0, repeated = 0;
    std::uint64_t answered = 0, given_up = 0;  // given up: also for lack of room, and as the client has left
  };

  ReportSender(const ReportOptions& options, Send send) : options_(options), send_(std::move(send)) {}

  void report(const SaClient& client, const SubnetNotice& notice, TimePoint now);
  // A client says that it has got a report. What fits none is ignored.
  void take(const SaClient& client, std::uint64_t transaction);
  // Sends again what was not answered in time, and gives up clients that stay silent.
  void expire(TimePoint now);
  // Others are told nothing more.
  void keep_only(const std::function<bool(const SaClient&)>& is_subscriber);
  [[nodiscard]] std::optional<TimePoint> next_due() const;

  [[nodiscard]] std::size_t under_way() const { return reports_.size(); }
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  struct Report {
    SaClient client;
    Mad mad{};
    unsigned attempts = 1;
    TimePoint due;
  };
  using Reports = std::map<std::uint32_t, Report>;  // by transaction

  Reports::iterator end(Reports::iterator at);

  const ReportOptions options_;
  const Send send_;
  Reports reports_;
  std::set<std::pair<TimePoint, std::uint32_t>> due_;
  std::map<SaClient, std::size_t> of_client_;
  std::uint32_t last_transaction_ = 0;
  Counts counts_;
};

}  // namespace railweave::fabric::infiniband
