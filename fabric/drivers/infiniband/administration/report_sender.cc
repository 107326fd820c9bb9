#include "fabric/drivers/infiniband/administration/report_sender.h"

#include <algorithm>

namespace railweave::fabric::infiniband {

void ReportSender::report(const SaClient& client, const SubnetNotice& notice, TimePoint now) {
  const auto own = of_client_.find(client);
  if (reports_.size() >= options_.max_reports || (own != of_client_.end() && own->second >= options_.max_of_client)) {
    ++counts_.given_up;
    return;
  }
  do {
    ++last_transaction_;  // the upper half of a transaction is the port's
  } while (last_transaction_ == 0 || reports_.contains(last_transaction_));
  Report one{.client = client, .due = now + options_.timeout};
  write_sa_header(one.mad, {.method = static_cast<std::uint8_t>(SaMethod::report),
                            .transaction = last_transaction_,
                            .attribute = static_cast<std::uint16_t>(SaAttribute::notice)});
  std::ranges::copy(notice.bytes, sa_space(one.mad).begin());
  due_.emplace(one.due, last_transaction_);
  ++of_client_[client];
  ++counts_.reports;
  send_(client, reports_.emplace(last_transaction_, one).first->second.mad);
}

void ReportSender::take(const SaClient& client, std::uint64_t transaction) {
  const auto at = reports_.find(static_cast<std::uint32_t>(transaction));
  if (at == reports_.end() || at->second.client.lid != client.lid) return;
  ++counts_.answered;
  end(at);
}

void ReportSender::expire(TimePoint now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    const auto at = reports_.find(due_.begin()->second);
    Report& one = at->second;
    if (one.attempts >= options_.attempts) {
      ++counts_.given_up;
      end(at);
      continue;
    }
    due_.erase(due_.begin());
    ++one.attempts;
    one.due = now + options_.timeout;
    due_.emplace(one.due, at->first);
    ++counts_.repeated;
    send_(one.client, one.mad);
  }
}

void ReportSender::keep_only(const std::function<bool(const SaClient&)>& is_subscriber) {
  for (auto at = reports_.begin(); at != reports_.end();) {
    if (is_subscriber(at->second.client)) {
      ++at;
      continue;
    }
    ++counts_.given_up;
    at = end(at);
  }
}

std::optional<ReportSender::TimePoint> ReportSender::next_due() const {
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

ReportSender::Reports::iterator ReportSender::end(Reports::iterator at) {
  due_.erase({at->second.due, at->first});
  const auto own = of_client_.find(at->second.client);
  if (--own->second == 0) of_client_.erase(own);
  return reports_.erase(at);
}

}  // namespace railweave::fabric::infiniband
