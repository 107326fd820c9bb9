#include "services/railweave/command_line/number_option.h"

#include <functional>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"

namespace railweave::cli {
namespace {

std::uint64_t read(const std::string& name, const std::string& text, NumberRange range) {
  const auto number = whole_number<std::uint64_t>(text, range.most);
  const bool padded = text.size() > 1 && text.front() == '0';
  if (number && !padded && *number >= range.least) return *number;
  std::string wanted = "takes a whole number";
  if (range.most != NumberRange().most) {
    wanted += fmt::format(" from {} to {}", range.least, range.most);
  } else if (range.least > 0) {
    wanted += fmt::format(" of at least {}", range.least);
  }
  throw CLI::ValidationError(name + " " + wanted + ", not '" + text + "'");
}

CLI::Option* add(CLI::App& command, const std::string& name, const std::string& description, NumberRange range,
                 std::function<void(std::uint64_t)> store) {
  return command
      .add_option_function<std::string>(
          name,
          [range, store = std::move(store), called = name.substr(name.rfind(',') + 1)](const std::string& text) {
            store(read(called, text, range));
          },
          description)
      ->type_name("N");
}

}  // namespace

CLI::Option* add_number_option(CLI::App& command, const std::string& name, std::optional<std::uint64_t>& into,
                               const std::string& description, NumberRange range) {
  return add(command, name, description, range, [&into](std::uint64_t number) { into = number; });
}

CLI::Option* add_number_option(CLI::App& command, const std::string& name, std::uint64_t& into,
                               const std::string& description, NumberRange range) {
  return add(command, name, description, range, [&into](std::uint64_t number) { into = number; })
      ->default_str(std::to_string(into));
}

}  // namespace railweave::cli
