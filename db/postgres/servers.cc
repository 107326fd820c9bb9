#include "db/postgres/servers.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include <fmt/core.h>
#include <libpq-fe.h>

#include "db/postgres/session.h"

namespace railweave::db::postgres {
namespace {

struct Free {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, Free>;

std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= list.size();) {
    const auto comma = std::min(list.find(',', from), list.size());
    parts.emplace_back(list.substr(from, comma - from));
    from = comma + 1;
  }
  return parts;
}

std::string quoted(std::string_view value) {
  std::string text = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') text += '\\';
    text += c;
  }
  return text + "'";
}

bool is_listed(std::string_view keyword) { return keyword == "host" || keyword == "hostaddr" || keyword == "port"; }

}  // namespace

Result<std::vector<std::string>> servers_of(const std::string& url) {
  char* why = nullptr;
  const Options options(PQconninfoParse(url.c_str(), &why));
  const std::unique_ptr<char, void (*)(void*)> freed(why, PQfreemem);
  if (options == nullptr) {
    return fail(ErrorKind::invalid, "db.cannotConnect",
                "the connection string cannot be read: " + std::string(why == nullptr ? "" : why), redacted(url),
                "write postgresql://user@host:5432/database");
  }
  std::size_t servers = 1;
  for (const auto* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr && is_listed(option->keyword)) servers = std::max(servers, parts_of(option->val).size());
  }
  if (servers == 1) return std::vector{url};
  std::vector<std::string> each(servers);
  for (std::size_t i = 0; i < servers; ++i) {
    for (const auto* option = options.get(); option->keyword != nullptr; ++option) {
      if (option->val == nullptr) continue;
      std::string value = option->val;
      if (is_listed(option->keyword)) {
        const auto parts = parts_of(value);
        value = parts.size() == 1 ? parts.front() : i < parts.size() ? parts[i] : "";
      }
      if (value.empty()) continue;
      each[i] += fmt::format("{}{}={}", each[i].empty() ? "" : " ", option->keyword, quoted(value));
    }
  }
  return each;
}

}  // namespace railweave::db::postgres
