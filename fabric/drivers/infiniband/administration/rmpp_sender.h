// Sends tables that do not fit into one datagram: cut into segments, as many at a time as the receiver lets, again where they
// are not acknowledged in time (reliable multi-packet transactions, IBA 13.6). Pure: time is an input, and what is to be sent is
// handed to a function. Bounded in transfers and in bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "fabric/drivers/infiniband/administration/sa_answer.h"
#include "fabric/drivers/infiniband/administration/sa_client.h"

namespace railweave::fabric::infiniband {

struct RmppOptions {
  std::size_t max_transfers = 64;
  std::size_t max_bytes = std::size_t{64} << 20U;  // of all transfers under way
  std::uint32_t window = 256;                      // segments that are not acknowledged yet
  std::chrono::milliseconds timeout{1000};
  unsigned attempts = 4;
};

// What confirms a request that came as a segment, before its answer.
Mad acknowledgement(const SaHeader& segment);

class RmppSender {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Send = std::function<void(const SaClient&, const Mad&)>;
  struct Counts {
    std::uint64_t segments = 0, repeated = 0;
    std::uint64_t completed = 0, given_up = 0;  // transfers
  };

  RmppSender(const RmppOptions& options, Send send) : options_(options), send_(std::move(send)) {}

  // Sends the first segment. False: too much is under way.
  bool start(const SaClient& client, const SaAnswer& table, TimePoint now);
  [[nodiscard]] bool is_under_way(const SaClient& client, std::uint64_t transaction) const {
    return transfers_.contains(Key{client.lid, client.queue_pair, transaction});
  }
  // What a receiver says: ACK, STOP or ABORT. What fits no transfer is ignored.
  void take(const SaClient& client, const SaHeader& control, TimePoint now);
  // Sends again what was not acknowledged in time, and gives up receivers that stay silent.
  void expire(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_due() const;

  [[nodiscard]] std::size_t under_way() const { return transfers_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  struct Key {
    Lid lid;
    std::uint32_t queue_pair;
    std::uint64_t transaction;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Transfer {
    SaClient client;
    SaHeader header;
    std::vector<std::uint8_t> records;
    std::uint32_t segments = 1;
    std::uint32_t acknowledged = 0, sent = 0;  // the last of each
    std::uint32_t window_last = 1;             // that the receiver takes
    unsigned attempts = 1;
    TimePoint due;
  };
  using Transfers = std::map<Key, Transfer>;

  void send_segment(const Transfer& transfer, std::uint32_t number);
  void send_window(Transfer& transfer, TimePoint now);
  Transfers::iterator end(Transfers::iterator at);

  const RmppOptions options_;
  const Send send_;
  Transfers transfers_;
  std::size_t bytes_ = 0;
  Counts counts_;
};

}  // namespace railweave::fabric::infiniband
