// Webhooks as JSON. Their secrets are read and never written.
#pragma once

#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "services/control/state/webhook.h"

namespace railweave::api {

Result<control::Webhook> read_webhook(const std::string& name, std::string_view body);
std::string write_webhook(const control::Webhook& webhook);

}  // namespace railweave::api
