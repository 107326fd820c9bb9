#include "fabric/drivers/infiniband/administration/rmpp_sender.h"

#include <algorithm>

namespace railweave::fabric::infiniband {
namespace {

constexpr std::uint8_t kTooManyRetries = 127;

}  // namespace

Mad acknowledgement(const SaHeader& segment) {
  SaHeader header = segment;
  header.method |= kSaResponseBit;
  header.key = 0;
  header.rmpp = {.version = RmppHeader::kVersion,
                 .type = RmppType::ack,
                 .flags = RmppHeader::kActive,
                 .segment = segment.rmpp.segment,
                 .length = segment.rmpp.segment};
  Mad mad{};
  write_sa_header(mad, header);
  return mad;
}

bool RmppSender::start(const SaClient& client, const SaAnswer& table, TimePoint now) {
  if (transfers_.size() >= options_.max_transfers || bytes_ + table.records.size() > options_.max_bytes) return false;
  Transfer transfer{.client = client, .header = table.header, .records = table.records, .due = now};
  transfer.segments =
      static_cast<std::uint32_t>(std::max<std::size_t>(1, (table.records.size() + kSaDataBytes - 1) / kSaDataBytes));
  const auto [at, is_new] =
      transfers_.try_emplace(Key{client.lid, client.queue_pair, table.header.transaction}, std::move(transfer));
  if (!is_new) return true;
  bytes_ += table.records.size();
  send_window(at->second, now);
  return true;
}

void RmppSender::send_segment(const Transfer& transfer, std::uint32_t number) {
  const std::size_t begin = (number - std::size_t{1}) * kSaDataBytes;
  const std::size_t bytes = std::min(kSaDataBytes, transfer.records.size() - begin);
  SaHeader header = transfer.header;
  header.rmpp = {
      .version = RmppHeader::kVersion, .type = RmppType::data, .flags = RmppHeader::kActive, .segment = number};
  // The payload counts the administration's header in each segment.
  if (number == 1) {
    header.rmpp.flags |= RmppHeader::kFirst;
    header.rmpp.length = static_cast<std::uint32_t>(transfer.segments * kSaHeaderBytes + transfer.records.size());
  }
  if (number == transfer.segments) {
    header.rmpp.flags |= RmppHeader::kLast;
    header.rmpp.length = static_cast<std::uint32_t>(kSaHeaderBytes + bytes);
  }
  Mad mad{};
  write_sa_header(mad, header);
  std::copy_n(transfer.records.begin() + static_cast<std::ptrdiff_t>(begin), bytes, sa_space(mad).begin());
  send_(transfer.client, mad);
  ++counts_.segments;
}

void RmppSender::send_window(Transfer& transfer, TimePoint now) {
  const std::uint32_t last =
      std::min({transfer.window_last, transfer.segments, transfer.acknowledged + options_.window});
  while (transfer.sent < last) send_segment(transfer, ++transfer.sent);
  transfer.due = now + options_.timeout;
}

void RmppSender::take(const SaClient& client, const SaHeader& control, TimePoint now) {
  const auto at = transfers_.find(Key{client.lid, client.queue_pair, control.transaction});
  if (at == transfers_.end()) return;
  Transfer& transfer = at->second;
  if (control.rmpp.type == RmppType::stop || control.rmpp.type == RmppType::abort) {
    ++counts_.given_up;
    end(at);
    return;
  }
  if (control.rmpp.type != RmppType::ack) return;
  const std::uint32_t acknowledged = control.rmpp.segment, window_last = control.rmpp.length;
  // Old ones, and such of what was never sent, change nothing.
  if (acknowledged > transfer.sent || acknowledged < transfer.acknowledged || window_last < acknowledged) return;
  if (acknowledged == transfer.segments) {
    ++counts_.completed;
    end(at);
    return;
  }
  const bool is_progress = acknowledged > transfer.acknowledged || window_last > transfer.window_last;
  transfer.acknowledged = acknowledged;
  transfer.window_last = std::max(transfer.window_last, window_last);
  if (!is_progress) return;
  transfer.attempts = 1;
  send_window(transfer, now);
}

void RmppSender::expire(TimePoint now) {
  for (auto at = transfers_.begin(); at != transfers_.end();) {
    Transfer& transfer = at->second;
    if (transfer.due > now) {
      ++at;
      continue;
    }
    if (transfer.attempts >= options_.attempts) {
      SaHeader header = transfer.header;
      header.rmpp = {.version = RmppHeader::kVersion,
                     .type = RmppType::abort,
                     .flags = RmppHeader::kActive,
                     .status = kTooManyRetries};
      Mad mad{};
      write_sa_header(mad, header);
      send_(transfer.client, mad);
      ++counts_.given_up;
      at = end(at);
      continue;
    }
    ++transfer.attempts;
    counts_.repeated += transfer.sent - transfer.acknowledged;
    for (std::uint32_t n = transfer.acknowledged + 1; n <= transfer.sent; ++n) send_segment(transfer, n);
    transfer.due = now + options_.timeout;
    ++at;
  }
}

std::optional<RmppSender::TimePoint> RmppSender::next_due() const {
  std::optional<TimePoint> next;
  for (const auto& [key, transfer] : transfers_) {
    if (!next || transfer.due < *next) next = transfer.due;
  }
  return next;
}

RmppSender::Transfers::iterator RmppSender::end(Transfers::iterator at) {
  bytes_ -= at->second.records.size();
  return transfers_.erase(at);
}

}  // namespace railweave::fabric::infiniband
