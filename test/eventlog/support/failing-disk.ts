import { open } from 'node:fs/promises'
import type { Test } from 'tap'

/** What of a file fails: its bytes are written, and that they are on disk cannot be made sure. */
type FileCall = 'datasync' | 'truncate'

/** A disk that fails so until the returned function is called, for every file of this process. */
export async function failDisk(
  t: Pick<Test, 'teardown'>,
  calls: readonly FileCall[],
): Promise<() => void> {
  const handle = await open('/dev/null', 'r')
  const prototype = Object.getPrototypeOf(handle) as Record<FileCall, () => Promise<void>>
  await handle.close()
  const before = { datasync: prototype.datasync, truncate: prototype.truncate }
  for (const call of calls)
    prototype[call] = async () => Promise.reject(new Error(`EIO: i/o error, ${call}`))
  const mend = (): void => void Object.assign(prototype, before)
  t.teardown(mend)
  return mend
}
