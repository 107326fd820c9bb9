#include "fabric/drivers/infiniband/mad_exchange.h"

#include <algorithm>
#include <utility>

#include "fabric/base/check.h"

namespace railweave::fabric::infiniband {

namespace {

// A transaction is a sequence number and the slot that waits for it.
constexpr std::uint32_t kSlotBits = 6;
constexpr std::uint32_t kSlotMask = (1U << kSlotBits) - 1U;
static_assert(ExchangeOptions::kMaxWindow == 1U << kSlotBits);

// The port reports timeouts itself; where it does not, the exchange does so a little later.
constexpr Milliseconds kGrace{50};
constexpr Milliseconds kLongestWait{1000};
// With a limited rate, waits are of whole milliseconds: what they leave unsent is caught up with.
constexpr Milliseconds kCatchUp{5};

}  // namespace

MadExchange::MadExchange(MadPort& port, const ExchangeOptions& options) : port_(port), options_(options) {
  RAILWEAVE_CHECK(options.window >= 1 && options.window <= ExchangeOptions::kMaxWindow, "a window is 1 to 64");
  RAILWEAVE_CHECK(options.device_window >= 1 && options.attempts >= 1, "every question is asked");
  slots_.resize(options.window);
  for (std::size_t i = options.window; i-- > 0;) free_slots_.push_back(i);
}

void MadExchange::submit(DeviceKey device, const MadAddress& to, const Mad& mad, Completion completion) {
  Question question{device, to, mad, std::move(completion), 0};
  if (device == kNoDevice) {
    ready_.push_back(std::move(question));
    return;
  }
  Device& state = devices_[device];
  if (state.given_up) {
    abandoned_.push_back(std::move(question));
  } else if (state.active < options_.device_window) {
    ++state.active;
    ready_.push_back(std::move(question));
  } else {
    state.waiting.push_back(std::move(question));
  }
}

Result<void> MadExchange::run() {
  for (;;) {
    while (!abandoned_.empty()) {
      Question question = std::move(abandoned_.front());
      abandoned_.pop_front();
      ++counts_.silent;
      question.completion({});
    }
    wake_later(port_.now());
    if (auto sent = send_ready(); !sent) {
      forget();
      return sent;
    }
    if (!abandoned_.empty()) continue;
    const bool idle = free_slots_.size() == slots_.size();
    if (idle && ready_.empty() && later_.empty()) return {};
    const Milliseconds wait = wait_time(port_.now());
    auto received = port_.receive(wait);
    if (!received) {
      forget();
      return std::unexpected(received.error());
    }
    if (*received) take(**received);
    if (!*received || wait.count() == 0) expire(port_.now());
  }
}

Result<void> MadExchange::listen(TimePoint until, bool until_something) {
  const std::uint64_t before = counts_.unasked;
  for (TimePoint now = port_.now(); now < until; now = port_.now()) {
    auto received = port_.receive(std::max(Milliseconds(1), std::chrono::floor<Milliseconds>(until - now)));
    if (!received) return std::unexpected(received.error());
    if (*received) take(**received);
    if (until_something && counts_.unasked != before) break;
  }
  return {};
}

Result<void> MadExchange::send_ready() {
  while (!ready_.empty() && !free_slots_.empty()) {
    if (send_interval_.count() > 0 && next_send_ > port_.now()) return {};
    Question question = std::move(ready_.front());
    ready_.pop_front();
    if (given_up(question.device)) {
      abandoned_.push_back(std::move(question));
      continue;
    }
    const std::size_t index = free_slots_.back();
    free_slots_.pop_back();
    Slot& slot = slots_[index];
    slot.transaction = next_sequence_++ << kSlotBits | static_cast<std::uint32_t>(index);
    slot.busy = true;
    slot.question = std::move(question);
    slot.question.attempts += 1;
    slot.deadline = port_.now() + options_.timeout + kGrace;
    write_be(slot.question.mad, 8, 8, slot.transaction);
    if (auto sent = port_.send(slot.question.to, slot.question.mad, options_.timeout); !sent) return sent;
    ++counts_.sent;
    if (send_interval_.count() > 0) next_send_ = std::max(next_send_, port_.now() - kCatchUp) + send_interval_;
  }
  return {};
}

void MadExchange::limit_rate(unsigned per_second) {
  send_interval_ = per_second == 0 ? std::chrono::nanoseconds(0) : std::chrono::nanoseconds(1'000'000'000 / per_second);
  next_send_ = port_.now();
}

void MadExchange::take(const ReceivedMad& received) {
  const MadHeader header = read_header(received.mad);
  if (!header.is_response() && !received.timed_out) {
    ++counts_.unasked;
    if (take_unasked_) take_unasked_(received);
    return;
  }
  const auto transaction = static_cast<std::uint32_t>(header.transaction);
  const std::size_t index = transaction & kSlotMask;
  if (index >= slots_.size() || !slots_[index].busy || slots_[index].transaction != transaction) {
    ++counts_.late;  // the answer to an attempt that was given up
    return;
  }
  Question question = std::move(slots_[index].question);
  slots_[index].busy = false;
  free_slots_.push_back(index);
  constexpr std::uint16_t kBusy = 1;
  if (received.timed_out || (header.status & kBusy) != 0) {
    attempt_failed(std::move(question));
    return;
  }
  ++counts_.answered;
  finish(question, {.outcome = header.status == 0 ? MadReply::Outcome::answered : MadReply::Outcome::refused,
                    .status = header.status,
                    .mad = &received.mad});
}

void MadExchange::expire(TimePoint now) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (!slot.busy || slot.deadline > now) continue;
    slot.busy = false;
    free_slots_.push_back(i);
    attempt_failed(std::move(slot.question));
  }
}

void MadExchange::attempt_failed(Question question) {
  if (given_up(question.device)) {
    abandoned_.push_back(std::move(question));
    return;
  }
  if (question.attempts >= options_.attempts) {
    ++counts_.silent;
    give_up(question.device);
    finish(question, {});
    return;
  }
  ++counts_.retried;
  const TimePoint due = port_.now() + backoff(question.attempts);
  std::size_t at = later_questions_.size();
  if (free_later_.empty()) {
    later_questions_.push_back(std::move(question));
  } else {
    at = free_later_.back();
    free_later_.pop_back();
    later_questions_[at] = std::move(question);
  }
  later_.push({due, later_order_++, at});
}

void MadExchange::wake_later(TimePoint now) {
  while (!later_.empty() && later_.top().due <= now) {
    const std::size_t at = later_.top().question;
    later_.pop();
    ready_.push_back(std::move(later_questions_[at]));
    free_later_.push_back(at);
  }
}

void MadExchange::finish(Question& question, const MadReply& reply) {
  if (question.device != kNoDevice) {
    Device& device = devices_[question.device];
    if (!device.waiting.empty()) {
      ready_.push_back(std::move(device.waiting.front()));
      device.waiting.pop_front();
    } else if (device.active > 0) {
      --device.active;
    }
  }
  question.completion(reply);
}

void MadExchange::give_up(DeviceKey key) {
  if (key == kNoDevice) return;
  Device& device = devices_[key];
  device.given_up = true;
  device.active = 0;
  for (auto& question : device.waiting) abandoned_.push_back(std::move(question));
  device.waiting.clear();
}

bool MadExchange::given_up(DeviceKey key) const {
  if (key == kNoDevice) return false;
  const auto found = devices_.find(key);
  return found != devices_.end() && found->second.given_up;
}

void MadExchange::forgive(DeviceKey key) {
  if (const auto found = devices_.find(key); found != devices_.end()) found->second.given_up = false;
}

Milliseconds MadExchange::backoff(unsigned attempts) const {
  Milliseconds pause = options_.backoff;
  for (unsigned i = 1; i < attempts && pause < options_.max_backoff; ++i) pause *= 2;
  return std::min(pause, options_.max_backoff);
}

Milliseconds MadExchange::wait_time(TimePoint now) const {
  TimePoint until = now + kLongestWait;
  for (const Slot& slot : slots_) {
    if (slot.busy) until = std::min(until, slot.deadline);
  }
  if (!later_.empty()) until = std::min(until, later_.top().due);
  // Where send_ready() left something for later, only the rate can have held it back.
  if (!ready_.empty() && !free_slots_.empty()) until = std::min(until, next_send_);
  return std::max(Milliseconds(0), std::chrono::ceil<Milliseconds>(until - now));
}

void MadExchange::forget() {
  ready_.clear();
  abandoned_.clear();
  later_ = {};
  later_questions_.clear();
  free_later_.clear();
  free_slots_.clear();
  for (std::size_t i = slots_.size(); i-- > 0;) {
    slots_[i].busy = false;
    free_slots_.push_back(i);
  }
  devices_.clear();
}

}  // namespace railweave::fabric::infiniband
