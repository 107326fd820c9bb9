#include "db/sqlite/store_check.h"

#include "db/sqlite/high_water_mark.h"
#include "db/sqlite/sqlite_image.h"
#include "db/sqlite/store_file.h"

namespace railweave::db {

Result<StoreContents> check_sqlite_store(const std::filesystem::path& path, const StoreProgress& progress) {
  const auto file = sqlite::find_store_file(path, false);
  if (!file) return std::unexpected(file.error());
  const auto mark = sqlite::HighWaterMark::read(*file);  // before the records: a service may be adding some
  if (!mark) return std::unexpected(mark.error());
  const auto image = open_sqlite_image(*file);
  if (!image) return std::unexpected(image.error());
  const auto contents = read_store(**image, progress);
  if (!contents) return contents;
  if (auto checked = sqlite::check_mark(*file, *mark, contents->last_seq); !checked)
    return std::unexpected(checked.error());
  return contents;
}

Result<void> back_up_sqlite_store(const std::filesystem::path& path, const std::filesystem::path& to) {
  const auto image = open_sqlite_image(path);
  if (!image) return std::unexpected(image.error());
  const auto copy = make_sqlite_store(to);
  if (!copy) return std::unexpected(copy.error());
  const auto copied = copy_store(**image, **copy, {});
  if (!copied) return std::unexpected(copied.error());
  return {};
}

}  // namespace railweave::db
