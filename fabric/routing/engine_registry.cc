#include "fabric/routing/engine_registry.h"

#include <array>
#include <utility>

#include "fabric/routing/dragonfly/dragonfly_engine.h"
#include "fabric/routing/layered/layered_engine.h"
#include "fabric/routing/torus/torus_engine.h"
#include "fabric/routing/up_down/up_down_engine.h"

namespace railweave::fabric {

namespace {

// An engine with this score or a higher one was made for the shape. Those after it, for any shape, are then not asked,
// because they take long to compute their score.
constexpr int kMadeForIt = 80;

}  // namespace

std::span<const RoutingEngine* const> routing_engines() {
  static const UpDownEngine fat_tree(UpDownEngine::Flavor::fat_tree);
  static const TorusEngine torus;
  static const DragonflyEngine dragonfly;
  static const UpDownEngine up_down(UpDownEngine::Flavor::up_down);
  static const LayeredEngine layered;
  static const std::array<const RoutingEngine*, 5> engines{&fat_tree, &torus, &dragonfly, &up_down, &layered};
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
    if (best >= kMadeForIt) break;
  }
  return choice;
}

}  // namespace railweave::fabric
