// What counts while a process that shares its store receives nothing from it for longer than the lease: a token may have been
// revoked since, so that none is believed.
#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "api/http/message/problem.h"
#include "services/rest/access/caller.h"

namespace railweave::api {

// "this replica has received nothing from the store for 7 s"
std::string store_silence(std::chrono::milliseconds silent);

// 503 of who shows a token, known or not, while the store is silent. Who is known by another source is known without it.
std::expected<std::shared_ptr<const Caller>, Problem> confirmed(
    std::expected<std::shared_ptr<const Caller>, Problem> known,
    const std::optional<std::chrono::milliseconds>& silent);

}  // namespace railweave::api
