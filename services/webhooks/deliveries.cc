#include "services/webhooks/deliveries.h"

#include <utility>

#include "services/webhooks/delivery.h"

namespace railweave::webhooks {

Deliveries::Deliveries(control::ControlLoop& loop, db::Journal& journal, control::EventFeed& feed,
                       DeliveryOptions options)
    : loop_(loop), journal_(journal), feed_(feed), options_(std::move(options)) {}

Deliveries::~Deliveries() { stop(); }

void Deliveries::start() {
  const auto watch = [this](const db::Record& /*record*/) {
    worker_.wake();
    return true;
  };
  watching_ = feed_.subscribe(loop_.state()->seq, watch).value_or(0);
  worker_.start([this](Worker::Turn& turn) {
    do {
      follow_state();
      for (auto& [name, delivery] : by_name_) delivery->wake();
    } while (turn.rest());
    by_name_.clear();  // each ends its delivery under way
  });
}

void Deliveries::stop() {
  worker_.stop();
  if (watching_ != 0) feed_.unsubscribe(std::exchange(watching_, 0));
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
