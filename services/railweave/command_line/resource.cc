#include "services/railweave/command_line/resource.h"

#include <memory>
#include <utility>

#include <fmt/core.h>

#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

std::shared_ptr<std::string> add_argument(CLI::App& command, const ResourceKind& kind) {
  auto name = std::make_shared<std::string>();
  command.add_option(kind.argument, *name, kind.meaning)->required();
  return name;
}

void set_resource(Session& session, const ResourceKind& kind, const std::string& name, const ResourceChange& change) {
  const Target target = Target(kind.path).segment(name);
  Json body = Json::object();
  std::string etag;
  if (!change.keeps.empty()) {
    Resource present = session.service().read(target);
    etag = std::move(present.etag);
    for (const char* kept : change.keeps) {
      if (present.body.is_object() && present.body.contains(kept)) body[kept] = present.body[kept];
    }
  }
  change.change(body);
  Target put = target;
  if (change.ask) change.ask(put);
  print_resource(session, kind, session.service().put(put, body, etag));
}

// What is there now; whether the service would refuse its removal is for the service to say.
void show_what_would_go(Session& session, const ResourceKind& kind, const std::string& name) {
  print_resource(session, kind, session.service().get(Target(kind.path).segment(name)));
  note_dry_run(session, fmt::format("{} {} would be removed", kind.noun, name));
}

void remove_resource(Session& session, const ResourceKind& kind, const std::string& name) {
  session.service().remove(Target(kind.path).segment(name));
  if (session.output.is_document()) return;
  Sheet sheet;
  sheet.add("Removed", fmt::format("{} {}", kind.noun, name));
  session.output.text(sheet.text(session.output.terminal()));
}

}  // namespace

std::shared_ptr<bool> add_dry_run(CLI::App& command, const char* description) {
  auto dry_run = std::make_shared<bool>(false);
  command.add_flag("--dry-run", *dry_run, description);
  return dry_run;
}

void note_dry_run(Session& session, const std::string& would) {
  if (session.output.is_document()) return;
  session.output.flush();
  session.output.note("railweave: dry run: " + would + "; nothing was changed");
}

std::shared_ptr<std::vector<std::string>> add_names(CLI::App& command, const ResourceKind& kind) {
  auto names = std::make_shared<std::vector<std::string>>();
  command.add_option(kind.argument, *names, std::string(kind.meaning) + "; several are possible")->required();
  return names;
}

void for_each_name(Session& session, const std::vector<std::string>& names,
                   const std::function<void(const std::string&)>& run) {
  if (names.size() == 1) return run(names.front());
  Output& output = session.output;
  output.begin_list();
  ExitCode first_failure = ExitCode::ok;
  bool apart = false;
  for (const std::string& name : names) {
    try {
      if (apart && !output.is_document()) output.text("\n");
      run(name);
      apart = true;
    } catch (const CommandFailure& failure) {
      output.flush();
      output.note("railweave: " + failure.error().text());
      if (first_failure == ExitCode::ok) first_failure = failure.code();
    }
  }
  output.end_list();
  if (first_failure != ExitCode::ok) session.exit_code = first_failure;
}

void add_list(CLI::App& command, Session& session, ResourceList list) {
  struct Request {
    ResourceList list;
    std::vector<std::string> values;  // by filter
    ListOptions options;
  };
  auto request = std::make_shared<Request>();
  request->list = std::move(list);
  request->values.resize(request->list.filters.size());
  for (std::size_t i = 0; i < request->values.size(); ++i) {
    const ListFilter& filter = request->list.filters[i];
    std::string& value = request->values[i];
    if (filter.type == nullptr) {
      command.add_flag_callback(
          filter.option, [&value, given = filter.flag_value] { value = given; }, filter.description);
    } else {
      command.add_option(filter.option, value, filter.description)->type_name(filter.type)->check(is_not_empty);
    }
  }
  add_list_options(command, request->options, request->list.view);
  on_run(command, session, [&session, request] {
    Target target(request->list.path);
    ListOptions options = request->options;
    for (std::size_t i = 0; i < request->values.size(); ++i) {
      const ListFilter& filter = request->list.filters[i];
      const std::string& value = request->values[i];
      target.filter(filter.parameter, filter.of_value ? filter.of_value(value) : value);
      if (value.empty()) continue;
      options.asked += (options.asked.empty() ? "" : ", ") + std::string(filter.option);
      if (filter.type != nullptr) options.asked += " " + value;
    }
    print_list(session, target, request->list.view, options);
  });
}

CLI::App& add_list_command(CLI::App& noun, Session& session, const std::string& description,
                           std::initializer_list<const char*> examples, ResourceList list) {
  CLI::App& command = add_command(noun, "list", description, examples);
  add_list(command, session, std::move(list));
  return command;
}

void print_resource(Session& session, const ResourceKind& kind, const Json& resource) {
  if (session.output.is_document()) return session.output.document(resource);
  kind.print(session.output, resource);
}

CLI::App& add_show_command(CLI::App& noun, Session& session, const ResourceKind& kind, const std::string& description,
                           std::initializer_list<const char*> examples) {
  CLI::App& command = add_command(noun, "show", description, examples);
  on_run(command, session, [&session, kind, names = add_names(command, kind)] {
    for_each_name(session, *names, [&](const std::string& name) {
      const std::string id = kind.id_of == nullptr ? name : kind.id_of(session, name);
      const Json resource = session.service().get(Target(kind.path).segment(id));
      if (kind.is_finding != nullptr && kind.is_finding(resource)) session.exit_code = ExitCode::findings;
      print_resource(session, kind, resource);
    });
  });
  return command;
}

CLI::App& add_set_command(CLI::App& noun, Session& session, const ResourceKind& kind, const std::string& description,
                          std::initializer_list<const char*> examples, ResourceChange change) {
  CLI::App& command = add_command(noun, "set", description, examples);
  command.alias("put");
  on_run(command, session, [&session, kind, name = add_argument(command, kind), change = std::move(change)] {
    set_resource(session, kind, *name, change);
  });
  return command;
}

CLI::App& add_remove_command(CLI::App& noun, Session& session, const ResourceKind& kind, const std::string& description,
                             std::initializer_list<const char*> examples) {
  CLI::App& command = add_command(noun, "remove", description, examples);
  auto names = add_names(command, kind);
  auto dry_run = add_dry_run(command, "Only show what would be removed");
  on_run(command, session, [&session, kind, names, dry_run] {
    for_each_name(session, *names, [&](const std::string& name) {
      *dry_run ? show_what_would_go(session, kind, name) : remove_resource(session, kind, name);
    });
  });
  return command;
}

}  // namespace railweave::cli
