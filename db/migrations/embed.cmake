# Writes OUTPUT, a C++ file that holds every FOLDER/V<number>__<name>.sql with its SHA-256, as embedded_migrations() of
# namespace railweave::db::STORE (see db/migration.h).
file(GLOB files ${FOLDER}/V*.sql)
list(SORT files COMPARE NATURAL)

set(expected 1)
set(rows "")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  if(NOT name MATCHES "^V([0-9][0-9][0-9])__([a-z0-9_]+)$")
    message(FATAL_ERROR "${file}: a migration is named V001__what_it_does.sql")
  endif()
  set(label "${CMAKE_MATCH_2}")
  string(REGEX REPLACE "^0+" "" version "${CMAKE_MATCH_1}")
  if(NOT version EQUAL expected)
    message(FATAL_ERROR "${file}: the next migration must be number ${expected}, with no gap and no number twice")
  endif()
  math(EXPR expected "${expected} + 1")
  file(SHA256 ${file} sha256)
  file(READ ${file} text)
  string(APPEND rows "    {${version}, \"${label}\", \"${sha256}\",\n     R\"sql(${text})sql\"},\n")
endforeach()

file(WRITE ${OUTPUT} "// Generated from ${FOLDER} by db/migrations/embed.cmake; do not edit.
#include \"db/${STORE}/migration.h\"

namespace railweave::db::${STORE} {
namespace {
constexpr Migration kMigrations[] = {
${rows}};
}  // namespace

std::span<const Migration> embedded_migrations() { return kMigrations; }

}  // namespace railweave::db::${STORE}
")
