import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Runner } from './account.ts'
import { owned } from '../../../src/kernel/owned.ts'

/** Lines of a program's output kept to explain its failure. */
const TAIL_LINES = 15

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
const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' }

/**
 * Starts a Postgres program under the chosen account.
 * @param onLine each line of its output, from stdout and stderr.
 */
export function run(
  runner: Runner,
  file: string,
  args: readonly string[],
  cwd: string,
  onLine: (line: string) => void,
): Program {
  const [command = file, ...rest] = [...runner.prefix, file, ...args]
  const child = spawn(command, rest, {
    ...runner.ids,
    cwd,
    env: ENVIRONMENT,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const tail: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    owned(createInterface({ input: owned(stream), crlfDelay: Infinity })).on('line', (line) => {
      tail.push(line)
      if (tail.length > TAIL_LINES) tail.shift()
      onLine(line)
    })
  }
  const ended = new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(`cannot be started: ${error.message}`))
    child.once('close', (code, signal) =>
      resolve(signal === null ? `exited with status ${String(code)}` : `ended by ${signal}`),
    )
  })
  return { process: child, ended, tail: () => tail }
}
