#include "services/webhooks/deliveries.h"

#include <utility>

#include "services/webhooks/delivery.h"

namespace railweave::webhooks {

Deliveries::Deliveries(control::ControlLoop& loop, db::Journal& journal, control::EventFeed& feed,
                       DeliveryOptions options)
    : loop_(loop), journal_(journal), feed_(feed), options_(std::move(options)) {}

Deliveries::~Deliveries() { stop(); }

void Deliveries::start() {
  const auto watch = [this](const db::Record& record) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return false;
      newest_ = record.seq;
    }
    changed_.notify_one();
    return true;
  };
  watching_ = feed_.subscribe(loop_.state()->seq, watch).value_or(0);
  thread_ = std::thread([this] { run(); });
}

void Deliveries::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
  }
  changed_.notify_one();
  if (!thread_.joinable()) return;
  thread_.join();
  if (watching_ != 0) feed_.unsubscribe(watching_);
}

void Deliveries::run() {
  std::uint64_t seen = 0;
  for (;;) {
    follow_state();
    for (auto& [name, delivery] : by_name_) delivery->wake();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopping_ || newest_ != seen; });
    seen = newest_;
    if (stopping_) break;
  }
  by_name_.clear();  // each ends its delivery under way
}

// A webhook that was set again goes on with a thread of its own, from where the state has it.
void Deliveries::follow_state() {
  const auto state = loop_.state();
  std::erase_if(by_name_, [&](const auto& entry) {
    const auto webhook = state->webhooks->find(entry.first);
    return webhook == state->webhooks->end() || webhook->second.version != entry.second->version();
  });
  for (const auto& [name, webhook] : *state->webhooks) {
    if (webhook.disabled || by_name_.contains(name)) continue;
    by_name_.emplace(name, std::make_unique<Delivery>(loop_, journal_, options_, webhook));
  }
}

}  // namespace railweave::webhooks
