#include "services/railweave/commands/jobs/gang_request.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/decimal_number.h"
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/commands/jobs/job_request.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

// "prefill,decode=rack" -> {prefill, decode} and "rack".
std::pair<std::vector<std::string>, std::string> roles_and(const std::string& text, const char* option,
                                                           const char* form) {
  const auto equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) fail_usage(fmt::format("{} takes {}, not '{}'", option, form, text));
  std::vector<std::string> roles;
  for (std::size_t begin = 0; begin <= equals;) {
    const std::size_t end = std::min(text.find(',', begin), equals);
    roles.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return {std::move(roles), text.substr(equals + 1)};
}

void put_rules(Json& gang, const std::vector<std::string>& rules, const char* option, const char* member) {
  for (const std::string& rule : rules) {
    auto [roles, level] = roles_and(rule, option, "ROLE,ROLE=LEVEL");
    gang[member].push_back({{"roles", std::move(roles)}, {"level", level_name(level)}});
  }
}

void put_traffic(Json& gang, const std::vector<std::string>& traffic) {
  constexpr const char* kForm = "FROM,TO=BYTES[:by-rank]";
  for (const std::string& text : traffic) {
    const auto [roles, amount] = roles_and(text, "--role-traffic", kForm);
    const auto colon = amount.find(':');
    const std::string number = amount.substr(0, colon);
    const std::string spread = colon == std::string::npos ? "all-to-all" : amount.substr(colon + 1);
    const auto bytes = decimal_number(number);
    if (roles.size() != 2 || !bytes || (spread != "by-rank" && spread != "all-to-all")) {
      fail_usage(fmt::format("--role-traffic takes {}, not '{}'", kForm, text));
    }
    gang["traffic"].push_back({{"from", roles[0]},
                               {"to", roles[1]},
                               {"bytesPerStep", *bytes},
                               {"spread", spread == "by-rank" ? "byRank" : "allToAll"}});
  }
}

}  // namespace

void add_gang_options(CLI::App& command, GangOptions& options) {
  command.add_flag("--gang", options.gang, "The jobs are roles of one gang: all of them start, or none");
  const auto lists = [&](const char* name, std::vector<std::string>& into, const char* form, const char* description) {
    command.add_option(name, into, description)->type_name(form)->allow_extra_args(false);
  };
  lists("--together", options.together, "ROLE,ROLE=LEVEL",
        "Roles of the gang, by the jobs' names, that share a group of the level; repeatable");
  lists("--apart", options.apart, "ROLE,ROLE=LEVEL",
        "Roles of the gang that are in different groups of the level; repeatable");
  lists("--role-traffic", options.traffic, "FROM,TO=BYTES",
        "What all ranks of one role send to those of another in a step, together: from each rank to each, or with "
        ":by-rank "
        "from rank i to rank i (modulo); repeatable");
}

Json gang_of(const GangOptions& options) {
  const bool none = options.together.empty() && options.apart.empty() && options.traffic.empty();
  if (!options.gang && none) return nullptr;
  Json gang = Json::object();
  put_rules(gang, options.together, "--together", "together");
  put_rules(gang, options.apart, "--apart", "apart");
  put_traffic(gang, options.traffic);
  return gang;
}

}  // namespace railweave::cli
