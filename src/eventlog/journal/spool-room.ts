import { open, unlink } from 'node:fs/promises'
import { join } from 'node:path'

/** Written and removed again; larger than a batch. */
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
    const file = await open(path, 'w', 0o600)
    try {
      await file.writeFile(ROOM)
      await file.sync()
    } finally {
      await file.close()
    }
  } finally {
    await unlink(path).catch(() => undefined)
  }
}
