import { rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { writeSynced } from '../../platform/durable-files.ts'

/** The file that a look for room writes and removes again; it is larger than a batch. */
const FILE = 'room'
const ROOM = Buffer.alloc(1 << 20)

/**
 * Remembers why the last failed write failed, until a file in the directory shows that there is
 * room for a batch.
 */
export function createRoom(directory: string, checkBound: () => void) {
  let fault: string | undefined
  const write = async (writing: () => Promise<void>): Promise<void> => {
    try {
      checkBound()
      await writing()
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      fault = code ?? message
      throw error
    }
  }
  return {
    write,
    fault: (): string | undefined => fault,
    look: async (): Promise<void> => {
      if (fault === undefined) return
      const hasRoom = await write(() => writeRoom(join(directory, FILE))).then(
        () => true,
        () => false,
      )
      // A batch that was taken may have been a small one: it does not show that there is room.
      if (hasRoom) fault = undefined
    },
  }
}

async function writeRoom(path: string): Promise<void> {
  try {
    await writeSynced(path, ROOM)
  } finally {
    await unlink(path).catch(() => undefined)
  }
}

/** Removes the file of a process that died while it looked for room. */
export async function removeRoom(directory: string): Promise<void> {
  await rm(join(directory, FILE), { force: true })
}
