import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { filesWithDamage, readDamaged } from './damaged-records.ts'
import { HANDLED_FILE, readRejected, REJECTED_FILE } from './rejected-records.ts'

/** The parts of a spool that wait for an operator. */
export interface SetAside {
  /** Settlements and failures that the log refused for good, without a decision. */
  readonly refused: number
  /** Damaged parts of files that are kept. */
  readonly damaged: number
}

/**
 * Counts the records that were set aside in a spool's directory; reads the files again only when
 * they changed.
 */
export function createSetAsideCount(directory: string): () => Promise<SetAside> {
  let known: { readonly version: string; readonly count: SetAside } | undefined
  const versionOf = async (name: string): Promise<string> => {
    const found = await stat(join(directory, name)).catch(() => undefined)
    return found === undefined ? '' : `${name} ${found.ino} ${found.size} ${found.mtimeMs}`
  }
  return async () => {
    const names = new Set([REJECTED_FILE, HANDLED_FILE, ...(await filesWithDamage(directory))])
    const versions = await Promise.all([...names].map(versionOf))
    const version = versions.join('\n')
    if (known?.version !== version) {
      const { items } = await readRejected(directory)
      const { length: damaged } = await readDamaged(directory)
      known = { version, count: { refused: items.length, damaged } }
    }
    return known.count
  }
}
