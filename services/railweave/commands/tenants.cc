// railweave tenants list|show|set|remove.
#include <optional>

#include "services/railweave/command_line/number_option.h"
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"

namespace railweave::cli {
namespace {

Cell gpus_cell(const Json& tenant, FieldName name) {
  return field(tenant, name).is_number() ? Cell(text_of(tenant, name)) : Cell("none");
}
Cell limit_cell(const Json& tenant) { return gpus_cell(tenant, "maxGpus"); }

ListView tenants_view() {
  return {{text_column("TENANT", "id"),
           number_column("GPUS HELD", "gpusHeld"),
           {"LIMIT", limit_cell, Align::right},
           {"QUOTA", [](const Json& tenant) { return gpus_cell(tenant, "quotaGpus"); }, Align::right},
           text_column("COHORT", "cohort"),
           text_column("DESCRIPTION", "description"),
           text_column("REPAIR", "repair", true),
           text_column("WEIGHT", "weight", true),
           text_column("MAX PRIORITY", "maxPriority", true)},
          "no tenants (railweave tenants set NAME creates one)"};
}

void print_tenant(Output& output, const Json& tenant) {
  Sheet sheet;
  sheet.add("Tenant", text_of(tenant, "id"));
  sheet.add("Description", text_of(tenant, "description"));
  sheet.add("GPUs held", text_of(tenant, "gpusHeld"));
  sheet.add("Limit", limit_cell(tenant));
  sheet.add("Quota", gpus_cell(tenant, "quotaGpus"));
  if (field(tenant, "cohort").is_string() && !field(tenant, "cohort").get<std::string>().empty()) {
    const bool bounded = field(tenant, "borrowGpus").is_number();
    sheet.add("Cohort", text_of(tenant, "cohort") + ", may borrow " +
                            (bounded ? "up to " + text_of(tenant, "borrowGpus") + " GPUs" : "any number of GPUs"));
  }
  sheet.add("Weight", text_of(tenant, "weight"));
  sheet.add("Max priority", text_of(tenant, "maxPriority"));
  sheet.add("Repair", text_of(tenant, "repair") != "apply" ? std::string("proposed")
                      : text_of(tenant, "repairAfterSeconds") == "0"
                          ? std::string("at once")
                          : "applied after " + text_of(tenant, "repairAfterSeconds") + " s");
  output.text(sheet.text(output.terminal()));
}

constexpr ResourceKind kTenant{"/v1/tenants", "tenant", "NAME", "Its name: letters, digits, '-', '_' and '.'",
                               print_tenant};

struct TenantOptions {
  std::optional<std::uint64_t> max_gpus, quota, borrow, repair_after;
  std::optional<double> weight;
  std::optional<std::string> description, cohort, repair, max_priority, moves;
  bool no_limit = false;
};

void change_tenant(Json& body, const TenantOptions& options) {
  if (options.description) body["description"] = *options.description;
  if (options.max_gpus) body["maxGpus"] = *options.max_gpus;
  if (options.no_limit) body["maxGpus"] = nullptr;
  if (options.quota) body["quotaGpus"] = *options.quota;
  if (options.cohort) body["cohort"] = *options.cohort;
  if (options.borrow) body["borrowGpus"] = *options.borrow;
  if (options.weight) body["weight"] = *options.weight;
  if (options.repair) body["repair"] = *options.repair;
  if (options.max_priority) body["maxPriority"] = *options.max_priority;
  if (options.moves) body["moves"] = *options.moves == "on";
  if (options.repair_after) body["repairAfterSeconds"] = *options.repair_after;
}

void add_set_tenant_command(CLI::App& tenants, Session& session) {
  auto options = std::make_shared<TenantOptions>();
  CLI::App& command =
      add_set_command(tenants, session, kTenant, "Create a tenant or change one; options not given keep their value",
                      {"railweave tenants set research --max-gpus 512", "railweave tenants set guests --no-limit",
                       "railweave tenants set production --max-priority high"},
                      {{"description", "maxGpus", "quotaGpus", "cohort", "borrowGpus", "weight", "repair",
                        "repairAfterSeconds", "maxPriority", "moves"},
                       [options](Json& body) { change_tenant(body, *options); }});
  CLI::Option* limit =
      add_number_option(command, "--max-gpus", options->max_gpus, "Most GPUs that its jobs may hold together");
  command.add_flag("--no-limit", options->no_limit, "Its jobs may hold any number of GPUs")->excludes(limit);
  add_number_option(command, "--quota", options->quota, "GPUs that are its own, whatever other tenants use");
  command.add_option("--cohort", options->cohort, "Lend to and borrow from the tenants of this cohort")
      ->type_name("NAME");
  add_number_option(command, "--borrow", options->borrow, "Most GPUs that it may borrow");
  command.add_option("--weight", options->weight, "Weight of its fair share; 1 by default")->type_name("NUMBER");
  command
      .add_option("--max-priority", options->max_priority,
                  "Highest priority class that its jobs may have; normal by default")
      ->type_name("CLASS");
  command
      .add_option("--moves", options->moves, "Whether its checkpointable jobs may be offered other GPUs; on by default")
      ->type_name("on|off")
      ->check(CLI::IsMember({"on", "off"}));
  command.add_option("--repair", options->repair, "Whether repairs of its jobs are proposed or applied")
      ->type_name("propose|apply");
  add_number_option(command, "--repair-after", options->repair_after,
                    "Seconds that a loss lasts before a repair is applied; 30 by default", {0, 86'400});
  command.add_option("--description", options->description, "Free text")->type_name("TEXT");
}

}  // namespace

void add_tenant_commands(CLI::App& root, Session& session) {
  CLI::App& tenants = add_noun(root, "tenants", "Tenants and how many GPUs they may hold", "Jobs");
  tenants.alias("tenant");
  add_list_command(tenants, session, "List tenants", {"railweave tenants list"}, {"/v1/tenants", tenants_view()});
  add_show_command(tenants, session, kTenant, "Show a tenant", {"railweave tenants show research"});
  add_set_tenant_command(tenants, session);
  add_remove_command(tenants, session, kTenant, "Remove a tenant that holds no GPUs",
                     {"railweave tenants remove guests"});
}

}  // namespace railweave::cli
