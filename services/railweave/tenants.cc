// railweave tenants list|show|put|remove.
#include <optional>

#include "services/railweave/command_failure.h"
#include "services/railweave/listing.h"
#include "services/railweave/number_option.h"

namespace railweave::cli {
namespace {

Cell limit_cell(const Json& tenant) {
  return field(tenant, "maxGpus").is_number() ? Cell(text_of(tenant, "maxGpus")) : Cell("none");
}

ListView view() {
  return {{text_column("TENANT", "id"),
           number_column("GPUS HELD", "gpusHeld"),
           {"LIMIT", limit_cell, Align::right},
           text_column("DESCRIPTION", "description")},
          "no tenants (railweave tenants put NAME makes one)"};
}

void print_tenant(Output& output, const Json& tenant) {
  if (output.is_document()) return output.document(tenant);
  Sheet sheet;
  sheet.add("Tenant", text_of(tenant, "id"));
  sheet.add("Description", text_of(tenant, "description"));
  sheet.add("GPUs held", text_of(tenant, "gpusHeld"));
  sheet.add("Limit", limit_cell(tenant));
  output.text(sheet.text(output.terminal()));
}

struct PutOptions {
  std::string name;
  std::optional<std::uint64_t> max_gpus;
  std::optional<std::string> description;
  bool no_limit = false;
};

// What is not given stays as it is; If-Match holds the change to the tenant that was read.
void put(Session& session, const PutOptions& options) {
  if (options.no_limit && options.max_gpus) fail_usage("--max-gpus and --no-limit contradict each other");
  const Target target = Target("/v1/tenants").segment(options.name);
  api::ClientRequest read;
  read.target = target.text();
  const Answer present = session.service().send(read, [](int status) { return status == 404; });
  Json body = Json::object();
  api::ClientRequest write;
  if (present.status == 200) {
    for (const char* name : {"description", "maxGpus"}) body[name] = field(present.body, name);
    if (const auto* etag = present.headers.find("ETag")) write.headers.add("If-Match", *etag);
  }
  if (options.description) body["description"] = *options.description;
  if (options.max_gpus) body["maxGpus"] = *options.max_gpus;
  if (options.no_limit) body["maxGpus"] = nullptr;
  write.method = api::Method::put;
  write.target = target.text();
  write.content_type = "application/json";
  write.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  print_tenant(session.output, session.service().send(std::move(write)).body);
}

void remove(Session& session, const std::string& name) {
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
  on_run(list_command, session, [&session, limit] { print_list(session, Target("/v1/tenants"), view(), *limit); });

  auto shown = std::make_shared<std::string>();
  CLI::App& show_command = add_command(tenants, "show", "One tenant", {"railweave tenants show research"});
  show_command.add_option("NAME", *shown, "Its name")->required();
  on_run(show_command, session, [&session, shown] {
    print_tenant(session.output, session.service().get(Target("/v1/tenants").segment(*shown)));
  });

  auto options = std::make_shared<PutOptions>();
  CLI::App& put_command =
      add_command(tenants, "put", "Make a tenant, or change one; what is not given stays as it is",
                  {"railweave tenants put research --max-gpus 512", "railweave tenants put guests --no-limit"});
  put_command.add_option("NAME", options->name, "Letters, digits, '-', '_' and '.'")->required();
  add_number_option(put_command, "--max-gpus", options->max_gpus, "How many GPUs its jobs may hold together");
  put_command.add_flag("--no-limit", options->no_limit, "Any number of GPUs");
  put_command.add_option("--description", options->description, "For people")->type_name("TEXT");
  on_run(put_command, session, [&session, options] { put(session, *options); });

  auto removed = std::make_shared<std::string>();
  CLI::App& remove_command =
      add_command(tenants, "remove", "Remove a tenant that holds no GPUs", {"railweave tenants remove guests"});
  remove_command.add_option("NAME", *removed, "Its name")->required();
  on_run(remove_command, session, [&session, removed] { remove(session, *removed); });
}

}  // namespace railweave::cli
