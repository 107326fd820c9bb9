// railweave tenants list|show|put|remove.
#include <optional>

#include "services/railweave/command_line/listing.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

Cell gpus_cell(const Json& tenant, const char* name) {
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
           text_column("WEIGHT", "weight", true)},
          "no tenants (railweave tenants put NAME makes one)"};
}

void print_tenant(Output& output, const Json& tenant) {
  if (output.is_document()) return output.document(tenant);
  Sheet sheet;
  sheet.add("Tenant", text_of(tenant, "id"));
  sheet.add("Description", text_of(tenant, "description"));
  sheet.add("GPUs held", text_of(tenant, "gpusHeld"));
  sheet.add("Limit", limit_cell(tenant));
  sheet.add("Quota", gpus_cell(tenant, "quotaGpus"));
  if (field(tenant, "cohort").is_string() && !field(tenant, "cohort").get<std::string>().empty()) {
    const bool bounded = field(tenant, "borrowGpus").is_number();
    sheet.add("Cohort", text_of(tenant, "cohort") + ", borrows " +
                            (bounded ? "up to " + text_of(tenant, "borrowGpus") + " GPUs" : "whatever it leaves"));
  }
  sheet.add("Weight", text_of(tenant, "weight"));
  sheet.add("Repair", text_of(tenant, "repair") == "apply" ? "at once" : "proposed");
  output.text(sheet.text(output.terminal()));
}

struct TenantOptions {
  std::string name;
  std::optional<std::uint64_t> max_gpus;
  std::optional<std::uint64_t> quota, borrow;
  std::optional<double> weight;
  std::optional<std::string> description, cohort, repair;
  bool no_limit = false;
};

// What is not given stays as it is; If-Match holds the change to the tenant that was read.
void put_tenant(Session& session, const TenantOptions& options) {
  if (options.no_limit && options.max_gpus) fail_usage("--max-gpus and --no-limit contradict each other");
  const Target target = Target("/v1/tenants").segment(options.name);
  api::ClientRequest read;
  read.target = target.text();
  const Answer present = session.service().send(read, [](int status) { return status == 404; });
  Json body = Json::object();
  api::ClientRequest write;
  if (present.status == 200) {
    for (const char* name : {"description", "maxGpus", "quotaGpus", "cohort", "borrowGpus", "weight", "repair"}) {
      if (present.body.contains(name)) body[name] = present.body[name];
    }
    if (const auto* etag = present.headers.find("ETag")) write.headers.add("If-Match", *etag);
  }
  if (options.description) body["description"] = *options.description;
  if (options.max_gpus) body["maxGpus"] = *options.max_gpus;
  if (options.no_limit) body["maxGpus"] = nullptr;
  if (options.quota) body["quotaGpus"] = *options.quota;
  if (options.cohort) body["cohort"] = *options.cohort;
  if (options.borrow) body["borrowGpus"] = *options.borrow;
  if (options.weight) body["weight"] = *options.weight;
  if (options.repair) body["repair"] = *options.repair;
  write.method = api::Method::put;
  write.target = target.text();
  write.content_type = "application/json";
  write.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  print_tenant(session.output, session.service().send(std::move(write)).body);
}

void remove_tenant(Session& session, const std::string& name) {
  api::ClientRequest request;
  request.method = api::Method::del;
  request.target = Target("/v1/tenants").segment(name).text();
  session.service().send(std::move(request));
  if (session.output.is_document()) return;
  Sheet sheet;
  sheet.add("Removed", name);
  session.output.text(sheet.text(session.output.terminal()));
}

}  // namespace

void add_tenant_commands(CLI::App& root, Session& session) {
  CLI::App& tenants = add_noun(root, "tenants", "Tenants and how many GPUs they may hold", "Jobs");
  tenants.alias("tenant");

  auto limit = std::make_shared<std::uint64_t>(0);
  CLI::App& list_command = add_command(tenants, "list", "All tenants", {"railweave tenants list"});
  add_limit_option(list_command, *limit);
  on_run(list_command, session,
         [&session, limit] { print_list(session, Target("/v1/tenants"), tenants_view(), *limit); });

  auto shown = std::make_shared<std::string>();
  CLI::App& show_command = add_command(tenants, "show", "One tenant", {"railweave tenants show research"});
  show_command.add_option("NAME", *shown, "Its name")->required();
  on_run(show_command, session, [&session, shown] {
    print_tenant(session.output, session.service().get(Target("/v1/tenants").segment(*shown)));
  });

  auto options = std::make_shared<TenantOptions>();
  CLI::App& put_command =
      add_command(tenants, "put", "Make a tenant, or change one; what is not given stays as it is",
                  {"railweave tenants put research --max-gpus 512", "railweave tenants put guests --no-limit"});
  put_command.add_option("NAME", options->name, "Letters, digits, '-', '_' and '.'")->required();
  add_number_option(put_command, "--max-gpus", options->max_gpus, "How many GPUs its jobs may hold together");
  put_command.add_flag("--no-limit", options->no_limit, "Any number of GPUs");
  add_number_option(put_command, "--quota", options->quota, "How many GPUs it may always have");
  put_command.add_option("--cohort", options->cohort, "Lends to and borrows from the tenants of this cohort")
      ->type_name("NAME");
  add_number_option(put_command, "--borrow", options->borrow, "The most it may borrow");
  put_command.add_option("--weight", options->weight, "Of its fair share; 1 is everyone's")->type_name("NUMBER");
  put_command.add_option("--repair", options->repair, "What is done for its jobs when links under them fail")
      ->type_name("propose|apply");
  put_command.add_option("--description", options->description, "For people")->type_name("TEXT");
  on_run(put_command, session, [&session, options] { put_tenant(session, *options); });

  auto removed = std::make_shared<std::string>();
  CLI::App& remove_command =
      add_command(tenants, "remove", "Remove a tenant that holds no GPUs", {"railweave tenants remove guests"});
  remove_command.add_option("NAME", *removed, "Its name")->required();
  on_run(remove_command, session, [&session, removed] { remove_tenant(session, *removed); });
}

}  // namespace railweave::cli
