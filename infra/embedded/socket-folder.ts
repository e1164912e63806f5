import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readlink,
  rm,
  symlink,
} from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Longest path of a socket that every platform takes, in bytes: 104 on macOS with the zero at its end. */
const MAX_PATH_BYTES = 103
const PRIVATE = 0o700

/** The account whose process listens, if it is not the account of this process. */
interface SocketOwner {
  readonly uid: number
  readonly gid: number
}

/** Whether a socket of this name can be made in the folder: not every file system has sockets. */
function takesSockets(folder: string, name: string): Promise<boolean> {
  const path = join(folder, name)
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return Promise.resolve(false)
  return new Promise((resolve) => {
    const probe = createServer()
    probe.on('error', () => resolve(false))
    probe.listen(path, () => probe.close(() => resolve(true)))
  })
}

async function close(folder: string, owner: SocketOwner | undefined): Promise<void> {
  await chmod(folder, PRIVATE)
  if (owner !== undefined) await chown(folder, owner.uid, owner.gid)
}

/** Removes files of a killed process, because no process listens there now. */
async function clear(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    await rm(join(folder, name), { recursive: true, force: true })
}

/**
 * The folder that a link of an earlier start leads to, in the common temporary folder; undefined where another
 * account may have made it.
 */
async function folderOf(link: string, owner: SocketOwner | undefined): Promise<string | undefined> {
  const target = await readlink(link)
  const found = await lstat(target).catch(() => undefined)
  // Fails where the name is taken meanwhile.
  if (found === undefined) await mkdir(target, { mode: PRIVATE })
  else if (
    !found.isDirectory() ||
    found.uid !== (owner?.uid ?? process.getuid?.()) ||
    (found.mode & 0o077) !== 0
  )
    return undefined
  return target
}

async function temporaryFolder(): Promise<string> {
  // The short one of every platform first; a container may have only the other.
  for (const parent of ['/tmp', tmpdir()]) {
    const made = await mkdtemp(join(parent, 'tollgate-')).catch(() => undefined)
    if (made !== undefined) return made
  }
  throw new Error(`no folder for a socket can be made in /tmp or ${tmpdir()}`)
}

/**
 * An empty folder for the socket `name` of a server, closed to every other account: the kernel lets
 * no other account connect to a socket there, or put another one in its place. It is `root/socket`;
 * if that path is too long or its file system has no sockets, it is a link to a folder in the
 * temporary directory. A restart finds the same path.
 *
 * The caller holds the lock of `root`.
 *
 * @throws file system errors as they are.
 */
export async function openSocketFolder(
  root: string,
  name: string,
  owner?: SocketOwner,
): Promise<string> {
  const place = join(root, 'socket')
  const found = await lstat(place).catch(() => undefined)
  let elsewhere = found?.isSymbolicLink() === true ? await folderOf(place, owner) : undefined
  if (elsewhere === undefined) {
    if (found?.isDirectory() !== true) {
      await rm(place, { force: true })
      await mkdir(place, { mode: PRIVATE })
    }
    await close(place, owner)
    await clear(place)
    if (await takesSockets(place, name)) return place
    await rm(place, { recursive: true, force: true })
    elsewhere = await temporaryFolder()
    await symlink(elsewhere, place)
  }
  await close(elsewhere, owner)
  await clear(elsewhere)
  return elsewhere
}
