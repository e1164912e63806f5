/*
 * Records what a process does to the files below a folder, for `record.ts`. Preloaded: built with
 * -DROOT="…" and -DRECORD="…", the folder and the file that the records of all processes are appended to.
 *
 * A record is appended before a change is made and after a sync has ended: what stands in the file before a sync
 * was on the disk for certain, and anything else may have been at any time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST_FILES 65536
#define EACH(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

enum kind { OPEN = 1, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, MKDIR, RMDIR, LINK };

struct head {
  uint32_t kind;
  uint32_t path_bytes;
  uint32_t other_bytes;
  uint32_t data_bytes;
  uint64_t inode;
  int64_t offset;
};

/* Inodes of open files below the folder; 0 for all others. */
static uint64_t inodes[MOST_FILES];
/* How much of those is recorded that are written by stdio, whose own writes cannot be seen. */
static int64_t recorded[MOST_FILES];
static int record_file = -1;

static int is_ours(const char *path) {
  size_t n = strlen(ROOT);
  return strncmp(path, ROOT, n) == 0 && (path[n] == '/' || path[n] == 0);
}

static void put(struct head head, const char *path, const char *other, const struct iovec *data, int count) {
  int before = errno;
  if (record_file == -1)
    record_file = syscall(SYS_openat, AT_FDCWD, RECORD, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  struct iovec parts[1024];
  int n = 3;
  head.path_bytes = path ? strlen(path) : 0;
  head.other_bytes = other ? strlen(other) : 0;
  head.data_bytes = 0;
  for (int i = 0; i < count && n < 1024; i++) {
    parts[n++] = data[i];
    head.data_bytes += data[i].iov_len;
  }
  parts[0] = (struct iovec){&head, sizeof head};
  parts[1] = (struct iovec){(void *)path, head.path_bytes};
  parts[2] = (struct iovec){(void *)other, head.other_bytes};
  syscall(SYS_writev, record_file, parts, n);
  errno = before;
}

static void put_path(enum kind kind, const char *path, const char *other) {
  if (is_ours(path) || (other && is_ours(other))) put((struct head){.kind = kind}, path, other, 0, 0);
}

static uint64_t inode_of(int fd) { return fd >= 0 && fd < MOST_FILES ? inodes[fd] : 0; }

static int opened(int fd, int flags) {
  if (fd < 0 || fd >= MOST_FILES) return fd;
  int before = errno;
  char link[64], path[4096];
  struct stat found;
  inodes[fd] = 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  if (n > 0 && fstat(fd, &found) == 0) {
    path[n] = 0;
    if (is_ours(path)) {
      inodes[fd] = found.st_ino;
      recorded[fd] = (flags & O_TRUNC) ? 0 : found.st_size;
      put((struct head){.kind = OPEN, .inode = found.st_ino, .offset = S_ISDIR(found.st_mode) ? -1 : (flags & O_TRUNC) != 0},
          path, 0, 0, 0);
    }
  }
  errno = before;
  return fd;
}

static void written(int fd, const struct iovec *data, int count, int64_t offset) {
  uint64_t inode = inode_of(fd);
  if (inode == 0) return;
  int before = errno;
  if (offset < 0) {
    struct stat found;
    if (fcntl(fd, F_GETFL) & O_APPEND)
      offset = fstat(fd, &found) == 0 ? found.st_size : 0;
    else
      offset = lseek(fd, 0, SEEK_CUR);
    /* libuv closes files by system calls that are not seen here: the number is a socket's or a pipe's by now. */
    if (offset < 0) {
      inodes[fd] = 0;
      errno = before;
      return;
    }
  }
  put((struct head){.kind = WRITE, .inode = inode, .offset = offset}, 0, 0, data, count);
  for (int i = 0; i < count; i++) offset += data[i].iov_len;
  if (offset > recorded[fd]) recorded[fd] = offset;
  errno = before;
}

/* What stdio has appended to a file. */
static void appended(int fd) {
  struct stat found;
  int before = errno;
  if (inode_of(fd) && fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_size > recorded[fd]) {
    char link[64], bytes[65536];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int from = syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC);
    ssize_t n;
    while ((n = syscall(SYS_pread64, from, bytes, sizeof bytes, recorded[fd])) > 0) {
      put((struct head){.kind = WRITE, .inode = inodes[fd], .offset = recorded[fd]}, 0, 0, &(struct iovec){bytes, n}, 1);
      recorded[fd] += n;
    }
    syscall(SYS_close, from);
  }
  errno = before;
}

static int flushed(FILE *file, int result) {
  if (file) appended(fileno(file));
  return result;
}

static int synced(int fd, int result) {
  if (result == 0 && inode_of(fd) != 0) put((struct head){.kind = SYNC, .inode = inode_of(fd)}, 0, 0, 0, 0);
  return result;
}

#define MODE_OF(flags, last) \
  mode_t mode = 0; \
  if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list rest; \
    va_start(rest, last); \
    mode = va_arg(rest, mode_t); \
    va_end(rest); \
  }

int open(const char *path, int flags, ...) {
  MODE_OF(flags, flags)
  return opened(EACH(open)(path, flags, mode), flags);
}
int open64(const char *path, int flags, ...) {
  MODE_OF(flags, flags)
  return opened(EACH(open64)(path, flags, mode), flags);
}
int openat(int at, const char *path, int flags, ...) {
  MODE_OF(flags, flags)
  return opened(EACH(openat)(at, path, flags, mode), flags);
}
int openat64(int at, const char *path, int flags, ...) {
  MODE_OF(flags, flags)
  return opened(EACH(openat64)(at, path, flags, mode), flags);
}
FILE *fopen(const char *path, const char *mode) {
  FILE *file = EACH(fopen)(path, mode);
  if (file) opened(fileno(file), strchr(mode, 'w') ? O_TRUNC : 0);
  return file;
}
FILE *fopen64(const char *path, const char *mode) {
  FILE *file = EACH(fopen64)(path, mode);
  if (file) opened(fileno(file), strchr(mode, 'w') ? O_TRUNC : 0);
  return file;
}
int fflush(FILE *file) { return flushed(file, EACH(fflush)(file)); }
int fflush_unlocked(FILE *file) { return flushed(file, EACH(fflush_unlocked)(file)); }
int fclose(FILE *file) {
  EACH(fflush)(file);
  appended(fileno(file));
  inodes[fileno(file) & (MOST_FILES - 1)] = 0;
  return EACH(fclose)(file);
}
int close(int fd) {
  if (fd >= 0 && fd < MOST_FILES) inodes[fd] = 0;
  return EACH(close)(fd);
}
ssize_t write(int fd, const void *bytes, size_t n) {
  written(fd, &(struct iovec){(void *)bytes, n}, 1, -1);
  return EACH(write)(fd, bytes, n);
}
ssize_t pwrite(int fd, const void *bytes, size_t n, off_t offset) {
  written(fd, &(struct iovec){(void *)bytes, n}, 1, offset);
  return EACH(pwrite)(fd, bytes, n, offset);
}
ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t offset) {
  written(fd, &(struct iovec){(void *)bytes, n}, 1, offset);
  return EACH(pwrite64)(fd, bytes, n, offset);
}
ssize_t writev(int fd, const struct iovec *parts, int n) {
  written(fd, parts, n, -1);
  return EACH(writev)(fd, parts, n);
}
ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t offset) {
  written(fd, parts, n, offset);
  return EACH(pwritev)(fd, parts, n, offset);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int n, off64_t offset) {
  written(fd, parts, n, offset);
  return EACH(pwritev64)(fd, parts, n, offset);
}
int ftruncate(int fd, off_t length) {
  if (inode_of(fd)) put((struct head){.kind = TRUNCATE, .inode = inode_of(fd), .offset = length}, 0, 0, 0, 0);
  return EACH(ftruncate)(fd, length);
}
int ftruncate64(int fd, off64_t length) {
  if (inode_of(fd)) put((struct head){.kind = TRUNCATE, .inode = inode_of(fd), .offset = length}, 0, 0, 0, 0);
  return EACH(ftruncate64)(fd, length);
}
int fsync(int fd) { return synced(fd, EACH(fsync)(fd)); }
int fdatasync(int fd) { return synced(fd, EACH(fdatasync)(fd)); }
int rename(const char *from, const char *to) {
  put_path(RENAME, from, to);
  return EACH(rename)(from, to);
}
int link(const char *from, const char *to) {
  put_path(LINK, from, to);
  return EACH(link)(from, to);
}
int unlink(const char *path) {
  put_path(UNLINK, path, 0);
  return EACH(unlink)(path);
}
int remove(const char *path) {
  put_path(UNLINK, path, 0);
  return EACH(remove)(path);
}
int mkdir(const char *path, mode_t mode) {
  put_path(MKDIR, path, 0);
  return EACH(mkdir)(path, mode);
}
int rmdir(const char *path) {
  put_path(RMDIR, path, 0);
  return EACH(rmdir)(path);
}
