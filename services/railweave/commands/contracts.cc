// railweave contracts list|show|set|remove.
#include <optional>

#include "services/railweave/command_line/choice_option.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"

namespace railweave::cli {
namespace {

Cell number_cell(const Json& contract, FieldName name) {
  return field(contract, name).is_number() ? Cell(text_of(contract, name)) : Cell("-");
}

ListView contracts_view() {
  return {{text_column("TENANT", "id"),
           number_column("Gb/s", "guaranteedGbps"),
           {"MAX Gb/s", [](const Json& item) { return number_cell(item, "maxGbps"); }, Align::right},
           text_column("BASIS", "basis"),
           text_column("MODEL", "model"),
           text_column("SURVIVES FAILURE", "surviveLinkFailure"),
           {"CLASSES",
            [](const Json& item) {
              return list(item, "classes").empty() ? Cell("all") : Cell(joined(list(item, "classes"), 4));
            }},
           text_column("PKEY", "pkey")},
          "no contracts (railweave contracts set TENANT creates one)"};
}

void print_contract(Output& output, const Json& contract) {
  Sheet sheet;
  sheet.add("Tenant", text_of(contract, "id"));
  const bool per_port = text_of(contract, "basis") == "perPort";
  sheet.add("Guaranteed", text_of(contract, "guaranteedGbps") + " Gb/s " + (per_port ? "per port" : "per job"));
  sheet.add("Maximum", field(contract, "maxGbps").is_number() ? text_of(contract, "maxGbps") + " Gb/s" : "none");
  sheet.add("Model", text_of(contract, "model"));
  sheet.add("Survives failure", text_of(contract, "surviveLinkFailure"));
  sheet.add("Isolated", text_of(contract, "isolated"));
  sheet.add("Isolation", text_of(contract, "isolation"));
  sheet.add("Classes", list(contract, "classes").empty() ? "all" : joined(list(contract, "classes")));
  sheet.add("Reserved", text_of(contract, "reservedPermille") + " of 1000");
  sheet.add("Max GPUs", number_cell(contract, "maxGpus"));
  sheet.add("Max NVLink domains", number_cell(contract, "maxNvlinkDomains"));
  sheet.add("PKey", text_of(contract, "pkey"));
  output.text(sheet.text(output.terminal()));
}

constexpr ResourceKind kContract{"/v1/contracts", "contract of", "TENANT", "The tenant's name", print_contract};

struct ContractOptions {
  std::string basis, model, isolation;
  std::optional<double> guaranteed, most;
  std::vector<std::string> classes;
  bool survive = false, not_survive = false, all_classes = false, isolate = false, not_isolate = false;
  bool withdraw = false;
  std::optional<std::uint64_t> reserved, gpus, domains;
};

void change_contract(Json& body, const ContractOptions& options) {
  if (options.guaranteed) body["guaranteedGbps"] = *options.guaranteed;
  if (options.most) body["maxGbps"] = *options.most;
  if (!options.basis.empty()) body["basis"] = options.basis == "job" ? "perJob" : "perPort";
  if (!options.model.empty()) body["model"] = options.model;
  if (options.survive || options.not_survive) body["surviveLinkFailure"] = options.survive;
  if (options.isolate || options.not_isolate) body["isolated"] = options.isolate;
  if (!options.isolation.empty()) body["isolation"] = options.isolation;
  if (!options.classes.empty()) body["classes"] = options.classes;
  if (options.all_classes) body["classes"] = Json::array();
  if (options.reserved) body["reservedPermille"] = *options.reserved;
  if (options.gpus) body["maxGpus"] = *options.gpus;
  if (options.domains) body["maxNvlinkDomains"] = *options.domains;
}

void add_set_contract_command(CLI::App& contracts, Session& session) {
  auto options = std::make_shared<ContractOptions>();
  CLI::App& command = add_set_command(
      contracts, session, kContract,
      "Create a tenant's contract or change it; options not given keep their value, running jobs follow",
      {"railweave contracts set research --guaranteed 100 --class all-reduce --survive",
       "railweave contracts set training --guaranteed 50 --isolation lane",
       "railweave contracts set guests --guaranteed 0 --withdraw"},
      {{"guaranteedGbps", "maxGbps", "basis", "model", "surviveLinkFailure", "isolated", "isolation", "classes",
        "reservedPermille", "maxGpus", "maxNvlinkDomains"},
       [options](Json& body) { change_contract(body, *options); },
       [options](Target& target) {
         if (options->withdraw) target.query("withdraw", "true");
       }});
  const auto rate = CLI::Range(0.0, 1e6);
  command
      .add_option("--guaranteed", options->guaranteed, "Guaranteed Gb/s in each direction, whatever other jobs send")
      ->type_name("GBPS")
      ->check(rate);
  command.add_option("--max", options->most, "Maximum Gb/s in each direction, enforced at the source")
      ->type_name("GBPS")
      ->check(rate);
  add_choice_option(command, "--per", options->basis, "Whether the rates are per port or per job", "port|job");
  add_choice_option(command, "--model", options->model,
                    "Guarantee any traffic among a job's ports, or only the pattern of its parallelism",
                    "hose|pattern");
  CLI::Option* survive = command.add_flag("--survive", options->survive,
                                          "The guarantee also holds after any single link between switches fails");
  command.add_flag("--no-survive", options->not_survive, "The guarantee need not hold after failures")
      ->excludes(survive);
  CLI::Option* isolate =
      command.add_flag("--isolate", options->isolate,
                       "Its jobs reach each other by the tenant's partition key alone, from the next "
                       "job on a node on; ranks need NCCL_IB_PKEY of `jobs ranks`");
  command.add_flag("--no-isolate", options->not_isolate, "Its jobs are in the default partition, too")
      ->excludes(isolate);
  add_choice_option(
      command, "--isolation", options->isolation,
      "What keeps the bandwidth of its jobs from their neighbours: the shares of classes (planned), agents "
      "on the nodes (class: none exists yet, so planned), or for each job a lane of its own on every "
      "InfiniBand link that it crosses, where Railweave programs the subnet",
      "planned|class|lane");
  CLI::Option* classes =
      command
          .add_option("--class", options->classes, "A traffic class its jobs may use, the first by default; repeatable")
          ->type_name("CLASS")
          ->allow_extra_args(false);
  command.add_flag("--all-classes", options->all_classes, "Its jobs may use any class")->excludes(classes);
  add_number_option(command, "--reserved-permille", options->reserved,
                    "Per mille of the guarantee that is reserved; below 1000 links are over-committed",
                    {.least = 1, .most = 1000});
  command.add_flag(
      "--withdraw", options->withdraw,
      "Running jobs may be left with less than they were guaranteed; without it such a change is refused and "
      "names them");
  add_number_option(command, "--max-gpus", options->gpus, "Most GPUs that its jobs may hold together");
  add_number_option(command, "--max-nvlink-domains", options->domains,
                    "Most partitions of NVLink domains that its jobs may hold together");
}

}  // namespace

void add_contract_commands(CLI::App& root, Session& session) {
  CLI::App& contracts = add_noun(root, "contracts", "Bandwidth that tenants are guaranteed", "Jobs");
  contracts.alias("contract");
  add_list_command(contracts, session, "List contracts", {"railweave contracts list"},
                   {"/v1/contracts", contracts_view()});
  add_show_command(contracts, session, kContract, "Show a tenant's contract", {"railweave contracts show research"});
  add_set_contract_command(contracts, session);
  add_remove_command(contracts, session, kContract, "Remove a contract that no guarantee depends on",
                     {"railweave contracts remove guests"});
}

}  // namespace railweave::cli
