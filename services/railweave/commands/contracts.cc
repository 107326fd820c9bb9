// railweave contracts list|show|set|remove and railweave qos classes|set.
#include <optional>

#include "services/railweave/command_line/listing.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_file.h"

namespace railweave::cli {
namespace {

Cell rate_cell(const Json& item, std::string_view name) {
  return field(item, name).is_number() ? Cell(text_of(item, name)) : Cell("-");
}

ListView contract_view() {
  return {{text_column("TENANT", "id"),
           number_column("Gb/s", "guaranteedGbps"),
           {"MOST", [](const Json& item) { return rate_cell(item, "maxGbps"); }, Align::right},
           text_column("BASIS", "basis"),
           text_column("MODEL", "model"),
           text_column("SURVIVES FAILURE", "surviveLinkFailure"),
           {"CLASSES",
            [](const Json& item) {
              return list(item, "classes").empty() ? Cell("all") : Cell(joined(list(item, "classes"), 4));
            }},
           text_column("PKEY", "pkey")},
          "no contracts (railweave contracts set TENANT makes one)"};
}

void print_contract(Output& output, const Json& contract) {
  if (output.is_document()) return output.document(contract);
  Sheet sheet;
  sheet.add("Tenant", text_of(contract, "id"));
  const bool per_port = text_of(contract, "basis") == "perPort";
  sheet.add("Guaranteed",
            text_of(contract, "guaranteedGbps") + " Gb/s " + (per_port ? "at each port" : "for each job"));
  sheet.add("At most", rate_cell(contract, "maxGbps"));
  sheet.add("Model", text_of(contract, "model"));
  sheet.add("Survives failure", text_of(contract, "surviveLinkFailure"));
  sheet.add("Classes", list(contract, "classes").empty() ? "all" : joined(list(contract, "classes")));
  sheet.add("Reserved", text_of(contract, "reservedPermille") + " of 1000");
  sheet.add("GPUs", rate_cell(contract, "maxGpus"));
  sheet.add("NVLink domains", rate_cell(contract, "maxNvlinkDomains"));
  sheet.add("PKey", text_of(contract, "pkey"));
  output.text(sheet.text(output.terminal()));
}

struct SetOptions {
  std::string tenant, basis, model;
  std::optional<double> guaranteed, most;
  std::vector<std::string> classes;
  bool survive = false, not_survive = false, all_classes = false;
  std::optional<std::uint64_t> reserved, gpus, domains;
};

// What is not given stays as it is; If-Match holds the change to the contract that was read.
void set(Session& session, const SetOptions& options) {
  if (options.survive && options.not_survive) fail_usage("--survive and --no-survive contradict each other");
  if (options.all_classes && !options.classes.empty()) fail_usage("--class and --all-classes contradict each other");
  const Target target = Target("/v1/contracts").segment(options.tenant);
  api::ClientRequest read;
  read.target = target.text();
  const Answer present = session.service().send(read, [](int status) { return status == 404; });
  Json body = Json::object();
  api::ClientRequest write;
  if (present.status == 200) {
    for (const char* name : {"guaranteedGbps", "maxGbps", "basis", "model", "surviveLinkFailure", "classes",
                             "reservedPermille", "maxGpus", "maxNvlinkDomains"}) {
      body[name] = field(present.body, name);
    }
    if (const auto* etag = present.headers.find("ETag")) write.headers.add("If-Match", *etag);
  }
  if (options.guaranteed) body["guaranteedGbps"] = *options.guaranteed;
  if (options.most) body["maxGbps"] = *options.most;
  if (!options.basis.empty()) body["basis"] = options.basis == "job" ? "perJob" : "perPort";
  if (!options.model.empty()) body["model"] = options.model;
  if (options.survive || options.not_survive) body["surviveLinkFailure"] = options.survive;
  if (!options.classes.empty()) body["classes"] = options.classes;
  if (options.all_classes) body["classes"] = Json::array();
  if (options.reserved) body["reservedPermille"] = *options.reserved;
  if (options.gpus) body["maxGpus"] = *options.gpus;
  if (options.domains) body["maxNvlinkDomains"] = *options.domains;
  write.method = api::Method::put;
  write.target = target.text();
  write.content_type = "application/json";
  write.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  print_contract(session.output, session.service().send(std::move(write)).body);
}

void remove_contract(Session& session, const std::string& tenant) {
  api::ClientRequest request;
  request.method = api::Method::del;
  request.target = Target("/v1/contracts").segment(tenant).text();
  session.service().send(std::move(request));
  if (session.output.is_document()) return;
  Sheet sheet;
  sheet.add("Removed", "contract of " + tenant);
  session.output.text(sheet.text(session.output.terminal()));
}

void print_classes(Output& output, const Json& answer) {
  if (output.is_document()) return output.document(answer);
  const ListView view{{text_column("CLASS", "name"), number_column("SHARE/1000", "sharePermille"),
                       number_column("PRIORITY", "priority"), text_column("BOUND BY", "bound"),
                       text_column("LOSSLESS", "lossless"), number_column("DSCP", "dscp")},
                      {}};
  Table table = make_table(view, output.is_wide());
  for (const Json& item : list(answer, "items")) add_row(table, view, output.is_wide(), item);
  output.text(table.text(output.terminal()));
}

void set_classes(Session& session, const std::string& path) {
  Json body = value_or_fail(parse_json(value_or_fail(read_input(path, kMaxJobFileBytes)), source_name(path)));
  if (body.is_array()) body = Json{{"items", body}};
  const Json version = field(body, "version");
  if (body.is_object()) body.erase("version");  // as `qos classes -o json` prints it
  api::ClientRequest write;
  write.method = api::Method::put;
  write.target = "/v1/qos-classes";
  write.content_type = "application/json";
  if (version.is_number_unsigned()) write.headers.add("If-Match", "\"qos-classes." + version.dump() + "\"");
  write.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  print_classes(session.output, session.service().send(std::move(write)).body);
}

}  // namespace

void add_contract_commands(CLI::App& root, Session& session) {
  CLI::App& contracts = add_noun(root, "contracts", "What tenants are promised on the network", "Jobs");
  contracts.alias("contract");

  auto limit = std::make_shared<std::uint64_t>(0);
  CLI::App& list_command = add_command(contracts, "list", "All contracts", {"railweave contracts list"});
  add_limit_option(list_command, *limit);
  on_run(list_command, session,
         [&session, limit] { print_list(session, Target("/v1/contracts"), contract_view(), *limit); });

  auto shown = std::make_shared<std::string>();
  CLI::App& show_command = add_command(contracts, "show", "A tenant's contract", {"railweave contracts show research"});
  show_command.add_option("TENANT", *shown, "Its name")->required();
  on_run(show_command, session, [&session, shown] {
    print_contract(session.output, session.service().get(Target("/v1/contracts").segment(*shown)));
  });

  auto options = std::make_shared<SetOptions>();
  CLI::App& set_command = add_command(
      contracts, "set", "Make a contract, or change one; what is not given stays, present jobs get what it says",
      {"railweave contracts set research --guaranteed 100 --class all-reduce --survive",
       "railweave contracts set guests --guaranteed 0"});
  set_command.add_option("TENANT", options->tenant, "Whose")->required();
  const auto rate = CLI::Range(0.0, 1e6);
  set_command.add_option("--guaranteed", options->guaranteed, "Gb/s each way, whatever else is sent")
      ->type_name("GBPS")
      ->check(rate);
  set_command.add_option("--max", options->most, "Gb/s each way, to be enforced at the source")
      ->type_name("GBPS")
      ->check(rate);
  set_command.add_option("--per", options->basis, "What the rates are of")
      ->type_name("port|job")
      ->check(CLI::IsMember({"port", "job"}));
  set_command.add_option("--model", options->model, "Any traffic of a job's ports, or its pattern alone")
      ->type_name("hose|pattern")
      ->check(CLI::IsMember({"hose", "pattern"}));
  set_command.add_flag("--survive", options->survive, "Also after any single link between switches failed");
  set_command.add_flag("--no-survive", options->not_survive, "Not after failures");
  set_command.add_option("--class", options->classes, "A class it may use, the first one by default")
      ->type_name("CLASS")
      ->allow_extra_args(false);
  set_command.add_flag("--all-classes", options->all_classes, "Any class");
  add_number_option(set_command, "--reserved-permille", options->reserved,
                    "Of what is promised, what is reserved; below 1000 it is over-committed",
                    {.least = 1, .most = 1000});
  add_number_option(set_command, "--max-gpus", options->gpus, "How many GPUs its jobs may hold together");
  add_number_option(set_command, "--max-nvlink-domains", options->domains, "Partitions of NVLink domains at one time");
  on_run(set_command, session, [&session, options] { set(session, *options); });

  auto removed = std::make_shared<std::string>();
  CLI::App& remove_command = add_command(contracts, "remove", "Remove a contract that no guarantee rests on",
                                         {"railweave contracts remove guests"});
  remove_command.add_option("TENANT", *removed, "Whose")->required();
  on_run(remove_command, session, [&session, removed] { remove_contract(session, *removed); });

  CLI::App& qos = add_noun(root, "qos", "Classes of traffic and their shares of links", "Jobs");
  CLI::App& classes_command = add_command(qos, "classes", "All classes",
                                          {"railweave qos classes", "railweave qos classes -o json > classes.json"});
  on_run(classes_command, session,
         [&session] { print_classes(session.output, session.service().get(Target("/v1/qos-classes"))); });
  auto file = std::make_shared<std::string>();
  CLI::App& classes_set =
      add_command(qos, "set", "Change the classes to those of a file", {"railweave qos set classes.json"});
  classes_set.add_option("FILE", *file, "As `railweave qos classes -o json` prints them; - for stdin")->required();
  on_run(classes_set, session, [&session, file] { set_classes(session, *file); });
}

}  // namespace railweave::cli
