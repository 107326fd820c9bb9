// Which addresses events may be sent to. A webhook's URL comes from a user, and the service may reach what the user cannot:
// its own machine, and the addresses at which clouds tell a machine its credentials. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/client/url.h"

namespace railweave::webhooks {

struct AddressRules {
  bool loopback = false;    // may be sent to, also over http
  bool link_local = false;  // link-local addresses, those of metadata services among them
};

// Why an address (numeric, of IPv4 or IPv6) is not to be sent to; none: it may be. Over http only loopback may.
std::optional<std::string> refusal(const AddressRules& rules, std::string_view address, bool tls);

struct WebhookUrl {
  api::Url server;
  std::string target;  // "/hooks/railweave?team=a"
};
// https://host[:port][/path][?query], or http:// where the rules let it be. Errors have code "webhooks.badUrl" or, for an
// address that the rules refuse, "webhooks.addressRefused". What a name stands for is checked when it is connected to.
Result<WebhookUrl> parse_webhook_url(std::string_view text, const AddressRules& rules);

}  // namespace railweave::webhooks
