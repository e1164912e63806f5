import { readFile } from 'node:fs/promises'
import { messageOf } from './explain.ts'
import { CommandError } from './output.ts'

/** Files of the data directory that are for this account alone. */

/** @throws CommandError for an unreadable file: its content must not be generated again */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new CommandError(`${path} cannot be read: ${messageOf(error)}`)
  }
}
