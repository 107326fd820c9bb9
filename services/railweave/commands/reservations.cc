// railweave reservations list|show|put|remove.
#include "services/railweave/command_line/listing.h"
#include "services/railweave/commands/job_request.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

std::string nodes_text(const Json& reservation, std::size_t most) {
  std::string text;
  std::size_t shown = 0;
  const Json& runs = list(reservation, "nodes");
  for (const auto& run : runs) {
    if (shown++ == most) return text + " and " + std::to_string(runs.size() - most) + " more";
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
          "nothing is set aside"};
}

void print(Output& output, const Json& reservation) {
  if (output.is_document()) return output.document(reservation);
  Sheet sheet;
  sheet.add("Reservation", text_of(reservation, "id"));
  sheet.add("Kind", text_of(reservation, "kind"));
  sheet.add("From", time_of(reservation, "from"));
  sheet.add("To", time_of(reservation, "to"));
  if (field(reservation, "tenant").is_string()) sheet.add("Tenant", text_of(reservation, "tenant"));
  if (!text_of(reservation, "reason").empty()) sheet.add("Reason", text_of(reservation, "reason"));
  sheet.add("GPUs", text_of(reservation, "gpus"));
  sheet.add("On", nodes_text(reservation, output.is_wide() ? SIZE_MAX : 6));
  output.text(sheet.text(output.terminal()));
}

struct ReservationOptions {
  std::string id, from, to, reason;
  std::vector<std::string> nodes;
  JobOptions job;
};

void put_reservation(Session& session, const ReservationOptions& options) {
  Json body{{"from", options.from}, {"to", options.to}};
  if (!options.reason.empty()) body["reason"] = options.reason;
  if (!options.nodes.empty()) {
    body["kind"] = "maintenance";
    body["nodes"] = options.nodes;
  } else {
    body["kind"] = "reservation";
    body["job"] = job_request(options.job);
  }
  api::ClientRequest write;
  write.method = api::Method::put;
  write.target = Target("/v1/reservations").segment(options.id).text();
  write.content_type = "application/json";
  write.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  print(session.output, session.service().send(std::move(write)).body);
}

void remove_reservation(Session& session, const std::string& name) {
  api::ClientRequest request;
  request.method = api::Method::del;
  request.target = Target("/v1/reservations").segment(name).text();
  session.service().send(std::move(request));
  if (session.output.is_document()) return;
  Sheet sheet;
  sheet.add("Removed", name);
  session.output.text(sheet.text(session.output.terminal()));
}

}  // namespace

void add_reservation_commands(CLI::App& root, Session& session) {
  CLI::App& reservations = add_noun(root, "reservations", "GPUs set aside for a time, and maintenance", "Jobs");
  reservations.alias("reservation");
  auto limit = std::make_shared<std::uint64_t>(0);
  CLI::App& list_command = add_command(reservations, "list", "All that are not over", {"railweave reservations list"});
  add_limit_option(list_command, *limit);
  on_run(list_command, session,
         [&session, limit] { print_list(session, Target("/v1/reservations"), reservations_view(), *limit); });

  auto shown = std::make_shared<std::string>();
  CLI::App& show_command =
      add_command(reservations, "show", "One reservation", {"railweave reservations show firmware -o wide"});
  show_command.add_option("NAME", *shown, "Its name")->required();
  on_run(show_command, session, [&session, shown] {
    print(session.output, session.service().get(Target("/v1/reservations").segment(*shown)));
  });

  auto options = std::make_shared<ReservationOptions>();
  CLI::App& put_command = add_command(
      reservations, "put", "Keep room for a tenant's job, or nodes free for maintenance",
      {"railweave reservations put demo --tenant research --gpus 64 --from 2026-12-01T08:00:00Z --to "
       "2026-12-01T12:00:00Z",
       "railweave reservations put firmware --node dgx-017 --from 2026-12-01T08:00:00Z --to 2026-12-01T12:00:00Z"});
  put_command.add_option("RESERVATION", options->id, "Its name: letters, digits, '-', '_' and '.'")->required();
  put_command.add_option("--from", options->from, "When it begins (RFC 3339)")->type_name("TIME")->required();
  put_command.add_option("--to", options->to, "When it ends")->type_name("TIME")->required();
  put_command.add_option("--reason", options->reason, "For people")->type_name("TEXT");
  put_command.add_option("--node", options->nodes, "Maintenance of this node; more than once for several")
      ->type_name("NODE")
      ->allow_extra_args(false);
  add_job_options(put_command, options->job);
  on_run(put_command, session, [&session, options] { put_reservation(session, *options); });

  auto removed = std::make_shared<std::string>();
  CLI::App& remove_command =
      add_command(reservations, "remove", "Give one up", {"railweave reservations remove firmware"});
  remove_command.add_option("NAME", *removed, "Its name")->required();
  on_run(remove_command, session, [&session, removed] { remove_reservation(session, *removed); });
}

}  // namespace railweave::cli
