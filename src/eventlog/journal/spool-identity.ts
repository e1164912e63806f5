import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { ulid } from 'ulid'

const FILE = 'spool-id'
const OWNER_ONLY = 0o600
const ULID = /^[0-9A-HJKMNP-TV-Z]{26}$/

/**
 * Names a spool's directory for as long as its disk lasts, whichever process has it: a ULID in a file there.
 * The directory exists and belongs to this process.
 */
export async function spoolIdentity(directory: string, nowMs: number): Promise<string> {
  const path = join(directory, FILE)
  const known = (await readFile(path, 'utf8').catch(() => '')).trim()
  if (ULID.test(known)) return known
  const made = ulid(nowMs)
  // Whole or not at all, also where the process dies here.
  const handle = await open(`${path}.new`, 'w', OWNER_ONLY)
  try {
    await handle.writeFile(`${made}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(`${path}.new`, path)
  return made
}
