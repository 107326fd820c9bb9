#include "services/railweaved/administrator.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <future>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "services/railweaved/store.h"
#include "services/rest/access/token_text.h"

namespace railweave {
namespace {

std::filesystem::path token_file(const Config& config) {
  if (!config.access.admin_token_file.empty()) return config.access.admin_token_file;
  return is_postgres(config.store) ? "var/railweave.admin-token" : config.store + ".admin-token";
}

// Whole or not at all, with mode 0600.
Result<void> write_secret(const std::filesystem::path& file, const std::string& text) {
  const std::string temporary = file.string() + ".new";
  const auto wrong = [&](const char* what) {
    const std::string why = std::strerror(errno);
    (void)::unlink(temporary.c_str());
    return fail(ErrorKind::unavailable, "auth.tokenFile", fmt::format("{}: {}", what, why), file.string(),
                "name another place with --admin-token-file");
  };
  (void)::unlink(temporary.c_str());
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return wrong("cannot write the administrator's token");
  const auto written = ::write(descriptor, text.data(), text.size());
  const bool synced = ::fsync(descriptor) == 0;
  const bool closed = ::close(descriptor) == 0;
  if (written != static_cast<ssize_t>(text.size()) || !synced || !closed) {
    return wrong("cannot write the administrator's token");
  }
  if (::rename(temporary.c_str(), file.c_str()) != 0) return wrong("cannot write the administrator's token");
  return {};
}

}  // namespace

Result<void> ensure_administrator(control::ControlLoop& loop, const Config& config, const log::Log& log) {
  if (config.access.authentication == Authentication::none) {
    log.warn("no authentication: whoever reaches {} may do everything", config.listen_address);
    return {};
  }
  const auto state = loop.state();
  const std::int64_t now_us = loop.now_us();
  const bool exists = std::ranges::any_of(*state->access_tokens, [&](const auto& entry) {
    return entry.second.role == control::Role::administrator && !entry.second.expired(now_us);
  });
  if (exists) return {};
  const auto made = api::new_token();
  if (!made) return std::unexpected(made.error());
  // The file first: a token that was written nowhere would keep the next start from issuing another.
  const auto file = token_file(config);
  if (auto written = write_secret(file, made->text + "\n"); !written) return std::unexpected(written.error());
  control::AccessToken token;
  token.id = made->id;
  token.name = "administrator";
  token.role = control::Role::administrator;
  token.sha256 = made->sha256;
  std::promise<control::CommandResult> answer;
  auto result = answer.get_future();
  const bool queued = loop.submit({"railweaved", control::IssueToken{std::move(token)}},
                                  [&](control::CommandResult outcome) { answer.set_value(std::move(outcome)); });
  if (!queued) return fail(ErrorKind::busy, "service.busy", "too many changes are waiting");
  if (const auto outcome = result.get(); !outcome) {
    (void)::unlink(file.c_str());
    return std::unexpected(outcome.error().error);
  }
  log.info("a token of an administrator was issued: it is in {}", file.string());
  return {};
}

}  // namespace railweave
