import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Clock } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import { replaceFile } from '../../platform/durable-files.ts'
import { type AuditState, parseState } from './state.ts'

/** The state of audits in a file, which two audits may write at once: the last one to write it wins, and it is whole. */

/** Part of a file that a killed audit has left is removed after this long; no write takes as much. */
const LEFT_MS = 86_400_000

/** A file that is no state of this version of the program. */
export class StateFileError extends Error {
  override readonly name = 'StateFileError'
}

/** The state in a file; undefined where there is none. @throws StateFileError, and errors of the file system */
export async function readStateFile(path: string): Promise<AuditState | undefined> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (Object(error).code === 'ENOENT') return undefined
    throw error
  }
  try {
    return parseState(text)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new StateFileError(`${path} is not an audit state of this version (${why})`)
  }
}

/** Keeps the states of one audit in a file, each in place of the one before. */
export function stateKeeper(path: string, clock: Clock): (state: AuditState) => Promise<void> {
  const next = `${path}.${newId('audit', clock.nowMs())}.new`
  let left: Promise<void> | undefined
  return async (state) => {
    await (left ??= removeLeft(path, clock.nowMs()))
    try {
      await replaceFile(path, `${JSON.stringify(state)}\n`, next)
    } catch (error) {
      await rm(next, { force: true }).catch(() => undefined)
      throw error
    }
  }
}

async function removeLeft(path: string, nowMs: number): Promise<void> {
  const [folder, name] = [dirname(path), basename(path)]
  for (const entry of await readdir(folder).catch(() => [])) {
    if (!entry.startsWith(`${name}.`) || !/\.audit_[0-9A-Z]{26}\.new$/.test(entry)) continue
    const file = join(folder, entry)
    const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Infinity }))
    if (nowMs - mtimeMs > LEFT_MS) await rm(file, { force: true }).catch(() => undefined)
  }
}
