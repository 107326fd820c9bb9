// Many requests and their answers at once over one MadPort: a bounded window, transaction ids, timeouts, retries with
// exponential backoff. Requests belong to a device; a device that stays silent is given up as a whole instead of timing
// out for each of its tables. Used by one thread; completions run inside run() and may submit more.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "fabric/drivers/infiniband/mad_port.h"

namespace railweave::fabric::infiniband {

struct ExchangeOptions {
  static constexpr unsigned kMaxWindow = 64;  // ibsim's client deadlocks at 512; switches drop long before
  unsigned window = 32;                       // datagrams under way
  unsigned device_window = 8;                 // of them to one device; VL15 has few buffers and no flow control
  Milliseconds timeout{200};                  // for one attempt
  unsigned attempts = 4;
  Milliseconds backoff{10};  // before the second attempt; doubles from there, up to:
  Milliseconds max_backoff{500};

  // A device that is gone costs 0.3 s; one that loses datagrams gets as many attempts.
  [[nodiscard]] ExchangeOptions brief() const {
    ExchangeOptions options = *this;
    options.timeout = std::min(timeout, Milliseconds(50));
    return options;
  }
  // For callers that delay others and can ask again later: a device that is gone costs 0.1 s.
  [[nodiscard]] ExchangeOptions impatient() const {
    ExchangeOptions options = *this;
    options.timeout = std::min(timeout, Milliseconds(50));
    options.attempts = std::min(attempts, 2U);
    return options;
  }
};

struct MadReply {
  enum class Outcome : std::uint8_t {
    answered,
    refused,  // answered with a status that is not 0
    silent,   // no attempt was answered, or the device was given up before
  };
  Outcome outcome = Outcome::silent;
  std::uint16_t status = 0;  // of a refusal
  const Mad* mad = nullptr;  // of answered and refused ones; valid during the completion only
  [[nodiscard]] bool ok() const { return outcome == Outcome::answered; }
  [[nodiscard]] bool silent() const { return outcome == Outcome::silent; }
};

class MadExchange {
 public:
  using Completion = std::function<void(const MadReply&)>;
  using DeviceKey = std::uint64_t;
  static constexpr DeviceKey kNoDevice = 0;  // no limit of its own, never given up

  struct Counts {
    std::uint64_t sent = 0, answered = 0, retried = 0, silent = 0, late = 0, unasked = 0;
  };

  MadExchange(MadPort& port, const ExchangeOptions& options);

  void submit(DeviceKey device, const MadAddress& to, const Mad& mad, Completion completion);
  // Until every request is answered or given up. Error: the port failed; requests are dropped without completion.
  Result<void> run();

  // Receives unsolicited datagrams, until the deadline or the first of them. Between runs.
  Result<void> listen(TimePoint until, bool until_something = false);

  // Limits the number of datagrams per second from now on, repeated ones included; 0: as fast as they are answered.
  void limit_rate(unsigned per_second);

  [[nodiscard]] bool given_up(DeviceKey device) const;
  void forgive(DeviceKey device);  // ask it again from now on
  // Traps and other unsolicited datagrams, as they come in between answers.
  void on_unasked(std::function<void(const ReceivedMad&)> take) { take_unasked_ = std::move(take); }
  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] MadPort& port() { return port_; }

 private:
  struct Question {
    DeviceKey device = kNoDevice;
    MadAddress to;
    Mad mad{};
    Completion completion;
    unsigned attempts = 0;
  };
  struct Slot {
    bool busy = false;
    std::uint32_t transaction = 0;
    TimePoint deadline;
    Question question;
  };
  struct Device {
    unsigned active = 0;  // ready, under way or waiting for the next attempt
    bool given_up = false;
    std::deque<Question> waiting;
  };
  struct Later {
    TimePoint due;
    std::uint64_t order = 0;
    std::size_t question = 0;  // in later_questions_
    bool operator>(const Later& other) const { return std::tie(due, order) > std::tie(other.due, other.order); }
  };

  Result<void> send_ready();
  void take(const ReceivedMad& received);
  void expire(TimePoint now);
  void wake_later(TimePoint now);
  void attempt_failed(Question question);
  void finish(Question& question, const MadReply& reply);
  void give_up(DeviceKey device);
  [[nodiscard]] Milliseconds wait_time(TimePoint now) const;
  [[nodiscard]] Milliseconds backoff(unsigned attempts) const;
  void forget();

  MadPort& port_;
  const ExchangeOptions options_;
  std::function<void(const ReceivedMad&)> take_unasked_;

  std::deque<Question> ready_, abandoned_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> free_slots_;
  std::uint32_t next_sequence_ = 1;
  std::unordered_map<DeviceKey, Device> devices_;
  std::vector<Question> later_questions_;
  std::vector<std::size_t> free_later_;
  std::priority_queue<Later, std::vector<Later>, std::greater<>> later_;
  std::uint64_t later_order_ = 0;
  std::chrono::nanoseconds send_interval_{0};
  TimePoint next_send_{};
  Counts counts_;
};

}  // namespace railweave::fabric::infiniband
