// railweave reservations list|show|set|remove.
#include <fmt/core.h>

#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/commands/jobs/job_request.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

std::string nodes_text(const Json& reservation, std::size_t most) {
  std::string text;
  std::size_t shown = 0;
  const Json& runs = list(reservation, "nodes");
  for (const auto& run : runs) {
    if (shown++ == most) return fmt::format("{} and {} more", text, runs.size() - most);
    text += (text.empty() ? "" : ", ") + (run.is_array() && !run.empty() ? text_of(run[0]) : std::string("-"));
  }
  return text;
}

ListView reservations_view() {
  return {{text_column("RESERVATION", "id"),
           text_column("KIND", "kind"),
           time_column("FROM", "from"),
           time_column("TO", "to"),
           text_column("TENANT", "tenant"),
           number_column("GPUS", "gpus"),
           {"NODES", [](const Json& reservation) { return Cell(nodes_text(reservation, 3)); }},
           text_column("REASON", "reason")},
          "no reservations"};
}

void print_reservation(Output& output, const Json& reservation) {
  Sheet sheet;
  sheet.add("Reservation", text_of(reservation, "id"));
  sheet.add("Kind", text_of(reservation, "kind"));
  sheet.add("From", time_of(reservation, "from"));
  sheet.add("To", time_of(reservation, "to"));
  if (field(reservation, "tenant").is_string()) sheet.add("Tenant", text_of(reservation, "tenant"));
  if (!text_of(reservation, "reason").empty()) sheet.add("Reason", text_of(reservation, "reason"));
  sheet.add("GPUs", text_of(reservation, "gpus"));
  sheet.add("Nodes", nodes_text(reservation, output.is_wide() ? SIZE_MAX : 6));
  output.text(sheet.text(output.terminal()));
}

constexpr ResourceKind kReservation{"/v1/reservations", "reservation", "NAME",
                                    "Its name: letters, digits, '-', '_' and '.'", print_reservation};

struct ReservationOptions {
  std::string from, to, reason;
  std::vector<std::string> nodes;
  JobOptions job;
};

void change_reservation(Json& body, const ReservationOptions& options) {
  body = Json{{"from", options.from}, {"to", options.to}};
  if (!options.reason.empty()) body["reason"] = options.reason;
  if (!options.nodes.empty()) {
    if (names_job(options.job)) {
      fail_usage(
          "--node asks for maintenance, which is of no tenant or job",
          "for a reservation leave --node out and say what the tenant's job needs, with --only NODE for its nodes");
    }
    body["kind"] = "maintenance";
    body["nodes"] = options.nodes;
  } else {
    body["kind"] = "reservation";
    body["job"] = job_request(options.job);
  }
}

void add_set_reservation_command(CLI::App& reservations, Session& session) {
  auto options = std::make_shared<ReservationOptions>();
  CLI::App& command = add_set_command(
      reservations, session, kReservation, "Set GPUs aside for a tenant's job, or nodes for maintenance",
      {"railweave reservations set demo --tenant research --gpus 64 --from 2026-12-01T08:00:00Z --to "
       "2026-12-01T12:00:00Z",
       "railweave reservations set firmware --node dgx-017 --from 2026-12-01T08:00:00Z --to 2026-12-01T12:00:00Z"},
      {{}, [options](Json& body) { change_reservation(body, *options); }});
  command.add_option("--from", options->from, "Begin (RFC 3339)")->type_name("TIME")->required();
  command.add_option("--to", options->to, "End (RFC 3339)")->type_name("TIME")->required();
  command.add_option("--reason", options->reason, "Free text")->type_name("TEXT");
  command.add_option("--node", options->nodes, "Maintenance of this node; repeatable")
      ->type_name("NODE")
      ->allow_extra_args(false);
  add_job_options(command, options->job);
}

}  // namespace

void add_reservation_commands(CLI::App& root, Session& session) {
  CLI::App& reservations = add_noun(root, "reservations", "GPUs set aside for a time, and maintenance", "Jobs");
  reservations.alias("reservation");
  add_list_command(reservations, session, "List present and future reservations", {"railweave reservations list"},
                   {"/v1/reservations", reservations_view()});
  add_show_command(reservations, session, kReservation, "Show a reservation",
                   {"railweave reservations show firmware -o wide"});
  add_set_reservation_command(reservations, session);
  add_remove_command(reservations, session, kReservation, "Remove a reservation",
                     {"railweave reservations remove firmware"});
}

}  // namespace railweave::cli
