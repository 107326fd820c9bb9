// An address to which events are sent as they happen, and how far it has come. Durable: a leader goes on where the one
// before it was.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace railweave::control {

struct Webhook {
  static constexpr std::size_t kMaxName = 63, kMaxUrl = 2'000, kMaxTypes = 100, kMaxSecret = 500, kMinSecret = 16,
                               kMaxError = 300;

  std::string name, url;
  std::vector<std::string> types;  // of events; "job." stands for all that begin so; empty: all
  bool muted = false;              // told of alarms that are muted, too
  std::string tenant;              // sees what a member of that tenant may see; "": everything
  std::string secret;              // signs what is sent
  std::string put_by;              // the actor that set it
  std::int64_t put_us = 0;
  std::uint64_t version = 0;  // seq of the event that set it

  // Everything up to here was received, or is not for it. What follows may be sent twice.
  std::uint64_t cursor = 0;
  std::int64_t delivered_us = 0;      // the last that was received; 0: none
  std::int64_t failing_since_us = 0;  // 0: the last attempt was received
  std::uint64_t failures = 0;         // attempts since then
  std::string last_error;
  bool disabled = false;  // failed for too long: nothing is sent until it is set again
};

using WebhookTable = std::map<std::string, Webhook, std::less<>>;
// Of which the last are left to operators, and of the others each tenant has a fair share.
inline constexpr std::size_t kMaxWebhooks = 100, kWebhooksOfOperators = 20;

}  // namespace railweave::control
