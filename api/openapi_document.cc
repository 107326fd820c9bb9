#include "api/openapi_document.h"

namespace railweave::api {
namespace {

// One raw string literal, made from openapi.yaml by CMakeLists.txt.
constexpr char kDocument[] =
#include <railweave_openapi_yaml.inc>
    ;

}  // namespace

std::string openapi_document() { return std::string(kDocument, sizeof kDocument - 1); }

}  // namespace railweave::api
