// railweave guarantees list|links|certificate|key|verify; reroute is in guarantee_reroute.cc, caps and partition are in
// guarantee_caps.cc.
#include <fmt/core.h>

#include "services/railweave/command_line/number_option.h"
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/certificate_check.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/terminal/output_file.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

Cell guarantee_state_cell(const Json& item) {
  const std::string state = text_of(item, "state");
  if (state == "planned") return {"planned", Tone::warning};
  return state == "holds" ? Cell("holds", Tone::good) : Cell("at risk", Tone::bad);
}

Cell tightest_cell(const Json& item) {
  const Json& link = field(item, "tightestLink");
  if (!link.is_object()) return "-";
  return Cell(text_of(link, "reservedGbps") + " of " + text_of(link, "limitGbps") + " Gb/s, " + text_of(link, "name"));
}

Cell risk_cell(const Json& item) {
  const Json& ms = field(item, "atRiskTotalMs");
  if (!ms.is_number() || ms.get<double>() == 0) return "-";
  return Cell(fmt::format("{} s", static_cast<std::uint64_t>(ms.get<double>() / 1000)));
}

Cell enforced_cell(const Json& item) {
  std::string text;
  for (const Json& means : list(item, "enforcement")) {
    text += (text.empty() ? "" : ", ") + text_of(means, "by") + " (" + text_of(means, "strength") + ")";
  }
  return Cell(text);
}

// What was asked for, and whether it is in force.
Cell isolation_cell(const Json& item) {
  const std::string asked = text_of(item, "isolation");
  if (asked != "class" && asked != "lane") return Cell("-");
  const std::string lane = field(item, "lane").is_number() ? " " + text_of(item, "lane") : "";
  if (text_of(field(item, "inForce"), "isolation") == asked) return {asked + lane, Tone::good};
  return {asked + lane + " (planned)", Tone::warning};
}

ListView guarantees_view() {
  return {{text_column("JOB", "job"),
           text_column("TENANT", "tenant"),
           text_column("CLASS", "class"),
           text_column("MODEL", "model"),
           number_column("Gb/s", "guaranteedGbpsPerPort"),
           {"STATE", guarantee_state_cell},
           {"COVERED",
            [](const Json& item) {
              if (!flag_of(item, "surviveLinkFailure")) return Cell("-");
              return flag_of(item, "covered") ? Cell("yes") : Cell("used up", Tone::warning);
            }},
           {"AT RISK", risk_cell, Align::right},
           {"TIGHTEST LINK", tightest_cell},
           {"IN FORCE",
            [](const Json& item) {
              const std::string level = text_of(field(item, "inForce"), "level");
              return Cell(level, level == "planned" ? Tone::warning : Tone::good);
            }},
           {"ISOLATION", isolation_cell},
           {"ENFORCED BY", enforced_cell, Align::left, true},
           text_column("REASON", "reason", true)},
          "no guarantees (railweave contracts set TENANT --guaranteed GBPS creates one)"};
}

void print_links(Session& session, std::uint64_t top) {
  Output& output = session.output;
  const Json answer = session.service().get(Target("/v1/guarantees/links").query("top", std::to_string(top)));
  if (output.is_document()) return output.document(answer);
  Table table(
      {{"LINK"}, {"CLASS"}, {"RESERVED", Align::right}, {"LIMIT", Align::right}, {"CAPACITY", Align::right}, {"BY"}});
  for (const Json& link : list(answer, "items")) {
    for (const Json& one : list(link, "classes")) {
      std::string jobs;
      for (const Json& holder : list(one, "holders")) {
        if (jobs.size() > 80) break;
        jobs += (jobs.empty() ? "" : ", ") + text_of(holder, "job") + " " + text_of(holder, "gbps");
      }
      table.add({text_of(link, "name"), text_of(one, "class"), text_of(one, "reservedGbps"), text_of(one, "limitGbps"),
                 text_of(link, "capacityGbps"), jobs});
    }
  }
  if (table.rows() == 0) return output.note("nothing is reserved on any link");
  output.text(table.text(output.terminal()));
}

}  // namespace

void add_guarantee_commands(CLI::App& root, Session& session) {
  CLI::App& guarantees = add_noun(root, "guarantees", "Bandwidth that jobs are guaranteed", "Jobs");
  guarantees.alias("guarantee");
  add_list_command(guarantees, session, "List guarantees, and whether each holds",
                   {"railweave guarantees list", "railweave guarantees list --at-risk -o wide"},
                   {"/v1/guarantees",
                    guarantees_view(),
                    {{"--tenant", "tenant", "NAME", "Only guarantees of this tenant"},
                     {"--at-risk", "state", nullptr, "Only guarantees at risk", "atRisk"}}});

  auto top = std::make_shared<std::uint64_t>(20);
  CLI::App& links_command = add_command(guarantees, "links", "List the links with the largest reserved shares, by job",
                                        {"railweave guarantees links --top 50"});
  add_number_option(links_command, "--top", *top, "Show the N fullest links", {.least = 1, .most = 10'000});
  on_run(links_command, session, [&session, top] { print_links(session, *top); });

  add_guarantee_reroute_command(guarantees, session);

  auto path = std::make_shared<std::string>();
  CLI::App& certificate_command =
      add_command(guarantees, "certificate", "Write what is guaranteed on every link, for independent verification",
                  {"railweave guarantees certificate -O certificate.json"});
  add_output_file_option(certificate_command, *path);
  on_run(certificate_command, session, [&session, path] {
    write_file_or_stdout(session.output, *path, session.service().get_text(Target("/v1/guarantees/certificate")));
  });

  auto key_path = std::make_shared<std::string>();
  CLI::App& key_command =
      add_command(guarantees, "key", "Write the public key that certificates are signed with, as PEM",
                  {"railweave guarantees key -O certificate.pub",
                   "railweave-verify fabric.json tables.txt certificate.json --public-key certificate.pub"});
  add_output_file_option(key_command, *key_path);
  on_run(key_command, session, [&session, key_path] {
    const Json key = session.service().get(Target("/v1/guarantees/certificate/key"));
    write_file_or_stdout(session.output, *key_path, text_of(key, "publicKey"));
  });

  auto check = std::make_shared<CertificateCheck>();
  CLI::App& verify_command =
      add_command(guarantees, "verify", "Verify the certificate by brute force, with railweave-verify",
                  {"railweave guarantees verify", "railweave guarantees verify --keep audit/ --failures 100"});
  verify_command.add_option("--keep", check->keep, "Keep the fabric, the tables and the certificate in this folder")
      ->type_name("FOLDER");
  add_number_option(verify_command, "--failures", check->failures,
                    "Number of survived link failures to check; by default all; fewer are never said to be enough",
                    {.least = 0, .most = 1'000'000});
  on_run(verify_command, session, [&session, check] { verify_certificate(session, *check); });

  add_guarantee_caps_commands(guarantees, session);
}

}  // namespace railweave::cli
