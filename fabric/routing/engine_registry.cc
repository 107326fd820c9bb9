#include "fabric/routing/engine_registry.h"

#include <array>
#include <utility>

#include "fabric/routing/layered_engine.h"
#include "fabric/routing/up_down_engine.h"

namespace railweave::fabric {

std::span<const RoutingEngine* const> routing_engines() {
  static const UpDownEngine fat_tree(UpDownEngine::Flavor::fat_tree);
  static const UpDownEngine up_down(UpDownEngine::Flavor::up_down);
  static const LayeredEngine layered;
  static const std::array<const RoutingEngine*, 3> engines{&fat_tree, &up_down, &layered};
  return engines;
}

const RoutingEngine* find_engine(std::string_view name) {
  for (const RoutingEngine* engine : routing_engines()) {
    if (engine->name() == name) return engine;
  }
  return nullptr;
}

EngineChoice choose_engine(const RoutingScope& scope) {
  EngineChoice choice;
  int best = 0;
  for (const RoutingEngine* engine : routing_engines()) {
    EngineFit fit = engine->fit(scope);
    if (fit.score <= best) continue;
    best = fit.score;
    choice = {engine, std::move(fit.reason)};
  }
  return choice;
}

}  // namespace railweave::fabric
