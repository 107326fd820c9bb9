#include "tests/unit/db/power_loss_disk.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <sqlite3.h>

namespace railweave::db {
namespace {

constexpr std::size_t kSectorBytes = 512;

PowerLossDisk* the_disk = nullptr;
sqlite3_vfs* system_vfs = nullptr;
sqlite3_vfs watching_vfs;

// What SQLite allocates for an open file: this, then the system VFS's own.
struct OpenFile {
  sqlite3_file base;
  std::shared_ptr<PowerLossDisk::File>* watched;  // null for files that are not
  sqlite3_file* system() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
static_assert(sizeof(OpenFile) % 8 == 0);

OpenFile& open_file(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file); }
sqlite3_file* system_file(sqlite3_file* file) { return open_file(file).system(); }

int close_file(sqlite3_file* file) {
  delete open_file(file).watched;
  return system_file(file)->pMethods->xClose(system_file(file));
}
int read_file(sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
  return system_file(file)->pMethods->xRead(system_file(file), data, size, offset);
}
int write_file(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  if (auto* watched = open_file(file).watched) {
    the_disk->before_operation();
    (*watched)->since.push_back({static_cast<std::uint64_t>(offset),
                                 std::string(static_cast<const char*>(data), static_cast<std::size_t>(size)), false});
  }
  return system_file(file)->pMethods->xWrite(system_file(file), data, size, offset);
}
int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  if (auto* watched = open_file(file).watched) {
    the_disk->before_operation();
    (*watched)->since.push_back({static_cast<std::uint64_t>(size), {}, true});
  }
  return system_file(file)->pMethods->xTruncate(system_file(file), size);
}
int sync_file(sqlite3_file* file, int flags) {
  if (auto* watched = open_file(file).watched) {
    the_disk->before_operation();
    for (const auto& write : (*watched)->since) write.apply((*watched)->durable);
    (*watched)->since.clear();
  }
  (void)flags;  // the machine that runs this test need not sync
  return SQLITE_OK;
}
int file_size(sqlite3_file* file, sqlite3_int64* size) {
  return system_file(file)->pMethods->xFileSize(system_file(file), size);
}
int lock_file(sqlite3_file* file, int level) { return system_file(file)->pMethods->xLock(system_file(file), level); }
int unlock_file(sqlite3_file* file, int level) {
  return system_file(file)->pMethods->xUnlock(system_file(file), level);
}
int check_reserved_lock(sqlite3_file* file, int* out) {
  return system_file(file)->pMethods->xCheckReservedLock(system_file(file), out);
}
int file_control(sqlite3_file* file, int operation, void* argument) {
  if (operation == SQLITE_FCNTL_SIZE_HINT || operation == SQLITE_FCNTL_CHUNK_SIZE) return SQLITE_NOTFOUND;
  return system_file(file)->pMethods->xFileControl(system_file(file), operation, argument);
}
int sector_size(sqlite3_file* file) { return system_file(file)->pMethods->xSectorSize(system_file(file)); }
int device_characteristics(sqlite3_file* file) {
  return system_file(file)->pMethods->xDeviceCharacteristics(system_file(file));
}
int shm_map(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
  return system_file(file)->pMethods->xShmMap(system_file(file), page, size, extend, out);
}
int shm_lock(sqlite3_file* file, int offset, int n, int flags) {
  return system_file(file)->pMethods->xShmLock(system_file(file), offset, n, flags);
}
void shm_barrier(sqlite3_file* file) { system_file(file)->pMethods->xShmBarrier(system_file(file)); }
int shm_unmap(sqlite3_file* file, int remove) {
  return system_file(file)->pMethods->xShmUnmap(system_file(file), remove);
}

const sqlite3_io_methods kMethods = {2,
                                     close_file,
                                     read_file,
                                     write_file,
                                     truncate_file,
                                     sync_file,
                                     file_size,
                                     lock_file,
                                     unlock_file,
                                     check_reserved_lock,
                                     file_control,
                                     sector_size,
                                     device_characteristics,
                                     shm_map,
                                     shm_lock,
                                     shm_barrier,
                                     shm_unmap,
                                     nullptr,
                                     nullptr};

int open_vfs_file(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  OpenFile& opened = open_file(file);
  opened.base.pMethods = nullptr;
  opened.watched = nullptr;
  // Before the system opens it, so that what the file holds already is not read behind its locks.
  constexpr int kDurable = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL;
  if (name != nullptr && (flags & kDurable) != 0 && the_disk->watches(name)) {
    opened.watched = new std::shared_ptr<PowerLossDisk::File>(the_disk->file(name));
  }
  const int code = system_vfs->xOpen(system_vfs, name, opened.system(), flags, out_flags);
  if (code != SQLITE_OK) {
    delete opened.watched;
    return code;
  }
  opened.base.pMethods = &kMethods;
  return SQLITE_OK;
}
int delete_vfs_file(sqlite3_vfs*, const char* name, int sync_directory) {
  the_disk->forget(name);
  return system_vfs->xDelete(system_vfs, name, sync_directory);
}

}  // namespace

void PowerLossDisk::Write::apply(std::string& content) const {
  if (truncates) {
    content.resize(offset);
    return;
  }
  if (content.size() < offset + bytes.size()) content.resize(offset + bytes.size());
  content.replace(offset, bytes.size(), bytes);
}

PowerLossDisk::PowerLossDisk(std::filesystem::path directory) : directory_(std::move(directory)) {
  system_vfs = sqlite3_vfs_find(nullptr);
  the_disk = this;
  watching_vfs = *system_vfs;
  watching_vfs.zName = "power-loss";
  watching_vfs.pNext = nullptr;
  watching_vfs.szOsFile = static_cast<int>(sizeof(OpenFile)) + system_vfs->szOsFile;
  watching_vfs.xOpen = open_vfs_file;
  watching_vfs.xDelete = delete_vfs_file;
  if (sqlite3_vfs_register(&watching_vfs, 1) != SQLITE_OK) throw std::runtime_error("no VFS");
}

PowerLossDisk::~PowerLossDisk() {
  sqlite3_vfs_unregister(&watching_vfs);
  sqlite3_vfs_register(system_vfs, 1);
  the_disk = nullptr;
}

std::shared_ptr<PowerLossDisk::File> PowerLossDisk::file(const std::filesystem::path& path) {
  auto& found = files_[path];
  if (!found) {
    found = std::make_shared<File>();
    std::ifstream content(path, std::ios::binary);
    found->durable.assign(std::istreambuf_iterator<char>(content), {});
  }
  return found;
}

void PowerLossDisk::write_image(const std::filesystem::path& directory, std::mt19937_64& random) const {
  for (const auto& [path, file] : files_) {
    std::string content = file->durable;
    const std::uint64_t kept_of_ten = random() % 11;  // 0: nothing since the sync; 10: all of it
    for (const Write& write : file->since) {
      if (random() % 10 < kept_of_ten) {
        write.apply(content);
      } else if (!write.truncates && random() % 2 == 0) {
        for (std::size_t at = 0; at < write.bytes.size(); at += kSectorBytes) {
          if (random() % 2 == 0) Write{write.offset + at, write.bytes.substr(at, kSectorBytes), false}.apply(content);
        }
      }
    }
    std::ofstream(directory / path.filename(), std::ios::binary) << content;
  }
}

}  // namespace railweave::db
