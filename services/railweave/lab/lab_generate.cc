// railweave lab generate KIND: a command for every kind and preset of fabric/generate, with an option for each parameter.
#include <algorithm>
#include <utility>

#include "fabric/generate/generate.h"
#include "services/railweave/lab/lab_commands.h"
#include "services/railweave/lab/written_fabric.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

using fabric::GenerateParameter;

struct GenerateOptions {
  fabric::GenerateSpec spec;
  WrittenFabricOptions written;
};

void add_generate_command(CLI::App& generate, Session& session, const std::string& name, const std::string& summary,
                          const std::string& group, const std::vector<GenerateParameter>& parameters) {
  auto options = std::make_shared<GenerateOptions>();
  options->spec.kind = name;
  const std::string example = "railweave lab generate " + name + " -O fabric.json";
  CLI::App& command = add_command(generate, name, summary, {example.c_str()});
  command.group(group);
  add_written_fabric_options(command, options->written, "--format");
  for (const auto& parameter : parameters) {
    const std::string fallback = parameter.fallback.empty() ? std::string() : " [" + parameter.fallback + "]";
    command
        .add_option_function<std::string>(
            "--" + parameter.name,
            [options, called = parameter.name](const std::string& value) {
              options->spec.parameters.insert_or_assign(called, value);
            },
            parameter.meaning + fallback)
        ->type_name("VALUE")
        ->group("Parameters");
  }
  on_run(command, session, [&session, options] {
    const fabric::Topology topology = value_or_fail(fabric::generate(options->spec));
    write_fabric_file(session.output, topology, options->written);
  });
}

// A preset takes the parameters of its parts, which may be presets themselves.
void collect_parameters(const std::string& name, std::vector<GenerateParameter>& into) {  // NOLINT(misc-no-recursion)
  for (const auto& kind : fabric::generate_kinds()) {
    if (kind.name != name) continue;
    for (const auto& parameter : kind.parameters) {
      if (std::ranges::find(into, parameter.name, &GenerateParameter::name) == into.end()) into.push_back(parameter);
    }
  }
  for (const auto& preset : fabric::generate_presets()) {
    if (preset.name != name) continue;
    for (const auto& part : preset.parts) collect_parameters(part.kind, into);
  }
}

}  // namespace

void add_lab_generate_commands(CLI::App& lab, Session& session) {
  CLI::App& generate = add_command(
      lab, "generate", "Generate a fabric: a kind with parameters, or a preset",
      {"railweave lab generate rail-optimized --hosts 128 -O fabric.json",
       "railweave lab generate fat-tree --tiers 3 --radix 32 --oversubscription 2 --format ibsim",
       "railweave lab generate demo-hgx --sites 2 --wan-links 8 --wan-rate 400 --wan-km 80 -O two-sites.json",
       "railweave lab generate demo -O demo.json"});
  for (const auto& kind : fabric::generate_kinds()) {
    add_generate_command(generate, session, kind.name, kind.summary, "Kinds", kind.parameters);
  }
  for (const auto& preset : fabric::generate_presets()) {
    std::vector<GenerateParameter> parameters;
    for (const auto& part : preset.parts) collect_parameters(part.kind, parameters);
    for (auto& parameter : parameters) parameter.fallback = "as in the preset";
    add_generate_command(generate, session, preset.name, preset.summary, "Presets", parameters);
  }
}

}  // namespace railweave::cli
