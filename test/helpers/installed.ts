import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Programs that the operating system brings, for tests that want the real thing. */

function find(programs: readonly string[]): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
  return programs
    .flatMap((program) => folders.map((folder) => join(folder, program)))
    .find((path) => existsSync(path))
}

/**
 * Where the first of these programs is; undefined on a machine that has none and cannot get one by
 * `apt-get`. `brings` is the package that has it.
 * @throws where it only has to be installed, and in CI
 */
export function findInstalled(programs: readonly string[], brings: string): string | undefined {
  const found = find(programs)
  if (found !== undefined) return found
  if (find(['apt-get']) !== undefined || (process.env['CI'] ?? '') !== '')
    throw new Error(`${programs.join(' or ')} is not installed: apt-get install ${brings}`)
  return undefined
}
