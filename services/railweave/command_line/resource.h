// The commands that every resource of the contract has in common, written once: list, show, set and remove over GET, PUT
// with If-Match, and DELETE. A noun's file says what is particular about it: its path, its columns, its sheet, its fields.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/command_line/listing.h"
#include "services/railweave/connection/session.h"

namespace railweave::cli {

// An option of a list command that becomes a query parameter, omitted where the option is not given.
struct ListFilter {
  const char* option;       // "--rack"
  const char* parameter;    // "rack"
  const char* type;         // "NAME" or "compute|storage"; nullptr: a flag
  const char* description;  // of the option
  const char* flag_value = "";
  std::string (*of_value)(const std::string& value) = nullptr;  // what is sent for it; null: the value
};

struct ResourceList {
  const char* path;  // "/v1/nodes"
  ListView view;
  std::vector<ListFilter> filters = {};
};
// Gives a command the filters and what every list can do, and makes it fetch and print the list.
void add_list(CLI::App& command, Session& session, ResourceList list);
// `railweave <noun> list`.
CLI::App& add_list_command(CLI::App& noun, Session& session, const std::string& description,
                           std::initializer_list<const char*> examples, ResourceList list);

struct ResourceKind {
  const char* path;                                     // of the collection: "/v1/tenants"
  const char* noun;                                     // in messages: "tenant"
  const char* argument;                                 // "TENANT"
  const char* meaning;                                  // of the argument: "Its name"
  void (*print)(Output& output, const Json& resource);  // for people
  // Showing it ends with exit code 10 then; null: never.
  bool (*is_finding)(const Json& resource) = nullptr;
  // The id of what the user named otherwise; null: names are ids.
  std::string (*id_of)(Session& session, const std::string& name) = nullptr;
};

// --dry-run of what removes something, and the line that ends it.
std::shared_ptr<bool> add_dry_run(CLI::App& command, const char* description);
void note_dry_run(Session& session, const std::string& would);

// One or more names as positional arguments, and what to do with each. Where there are several, a failure of one is noted
// and the others are still done; the exit code is the first failure's. Documents are printed as one list.
std::shared_ptr<std::vector<std::string>> add_names(CLI::App& command, const ResourceKind& kind);
void for_each_name(Session& session, const std::vector<std::string>& names,
                   const std::function<void(const std::string&)>& run);

// The document with -o json and yaml, else what kind.print() prints.
void print_resource(Session& session, const ResourceKind& kind, const Json& resource);

// `railweave <noun> show ARGUMENT`.
CLI::App& add_show_command(CLI::App& noun, Session& session, const ResourceKind& kind, const std::string& description,
                           std::initializer_list<const char*> examples);

// `railweave <noun> set ARGUMENT`: creates the resource or changes it. The fields of `keeps` are taken from the present
// resource, and the service refuses the change if the resource was changed since; without any the resource is replaced
// unread. `change` then puts the fields of the options into the body. `put` is an alias.
struct ResourceChange {
  std::vector<const char*> keeps;
  std::function<void(Json& body)> change;
  std::function<void(Target& target)> ask = {};  // query parameters of the change; none: none
};
CLI::App& add_set_command(CLI::App& noun, Session& session, const ResourceKind& kind, const std::string& description,
                          std::initializer_list<const char*> examples, ResourceChange change);

// `railweave <noun> remove ARGUMENT`.
CLI::App& add_remove_command(CLI::App& noun, Session& session, const ResourceKind& kind, const std::string& description,
                             std::initializer_list<const char*> examples);

}  // namespace railweave::cli
