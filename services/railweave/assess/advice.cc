#include "services/railweave/assess/advice.h"

namespace railweave::cli {

Json to_json(const Advice& advice) {
  return {{"code", advice.code},       {"severity", advice.severity}, {"title", advice.title},
          {"sure", advice.sure},       {"cost", advice.cost},         {"action", advice.action},
          {"command", advice.command}, {"objects", advice.objects}};
}

}  // namespace railweave::cli
