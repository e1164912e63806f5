import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { eachLine, howItEnds, Tail } from '../program-output.ts'
import type { Runner } from './account.ts'
import { owned } from '../../../src/platform/owned.ts'

/** A running Postgres program. */
export interface Program {
  readonly process: ChildProcess
  /** Resolves when it ended, with how. Never rejects. */
  readonly ended: Promise<string>
  /** Last lines of its output, for an explanation. */
  tail(): readonly string[]
}

/**
 * The environment of every program: no variables of this process, no locale, no time zone but UTC.
 */
export const ENVIRONMENT = {
  PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
  LC_ALL: 'C',
  TZ: 'UTC',
}

/**
 * Starts a Postgres program under the chosen account.
 * @param onLine each line of its output, from stdout and stderr.
 * @param stdin its input: empty, or a pipe that closes with this process.
 */
export function run(
  runner: Runner,
  file: string,
  args: readonly string[],
  cwd: string,
  onLine: (line: string) => void,
  stdin: 'ignore' | 'pipe' = 'ignore',
): Program {
  const [command = file, ...rest] = [...runner.prefix, file, ...args]
  const child = owned(
    spawn(command, rest, {
      ...runner.ids,
      cwd,
      env: ENVIRONMENT,
      stdio: [stdin, 'pipe', 'pipe'],
      // A separate session: Ctrl-C in a terminal reaches this process only, which drains before it ends
      // the server.
      detached: true,
    }),
  )
  if (child.stdin !== null) owned(child.stdin)
  const tail = new Tail()
  for (const stream of [child.stdout, child.stderr])
    eachLine(stream, (line) => {
      tail.add(line)
      onLine(line)
    })
  return { process: child, ended: howItEnds(child), tail: () => tail.lines() }
}
