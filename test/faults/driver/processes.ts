import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { basename } from 'node:path'

/** Finding the processes of a gateway by whose child they are: a name alone may be anybody's. */

interface Seen {
  readonly pid: number
  readonly parent: number
  readonly command: string
}

/** What can be killed. */
export type Target =
  | 'gateway'
  | 'event-store'
  | 'postgres'
  | 'projector'
  | 'database-session'
  | 'database-sessions'
  | 'everything'

const PS_TIMEOUT_MS = 60_000

function parentOf(stat: string): number {
  // The name in parentheses may hold anything; state and parent follow it.
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

function allProcesses(): readonly Seen[] {
  if (!existsSync('/proc/self/stat')) {
    const text = execFileSync('ps', ['-Axo', 'pid=,ppid=,command='], {
      encoding: 'utf8',
      timeout: PS_TIMEOUT_MS,
    })
    return text.split('\n').flatMap((line) => {
      const [, pid, parent, command = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? []
      return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), command }]
    })
  }
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')
      const parent = parentOf(readFileSync(`/proc/${name}/stat`, 'utf8'))
      return [{ pid: Number(name), parent, command }]
    } catch {
      return [] // It ended while we looked.
    }
  })
}

/** A process and all that it has started, and they. */
export function descendants(root: number): readonly Seen[] {
  const all = allProcesses()
  const found = all.filter(({ pid }) => pid === root)
  const parents = new Set([root])
  for (let before = 0; before !== found.length;) {
    before = found.length
    for (const one of all)
      if (parents.has(one.parent) && !parents.has(one.pid)) {
        parents.add(one.pid)
        found.push(one)
      }
  }
  return found
}

function isPostmaster({ command }: Seen): boolean {
  const [program = ''] = command.split(' ')
  return basename(program) === 'postgres' && command.includes(' -D ')
}

/**
 * The Postgres servers that run on data below a directory, whosever children they are: one that was just begun when
 * its parent was killed is nobody's, and serves.
 */
export function postmastersBelow(directory: string): readonly number[] {
  const below = ` -D ${realpathSync(directory)}/`
  return allProcesses()
    .filter((one) => isPostmaster(one) && one.command.includes(below))
    .map(({ pid }) => pid)
}

function isSession({ command }: Seen): boolean {
  return /^postgres: .*\[local\]/.test(command)
}

/** The processes a target stands for, of the tree below `root`; empty when none runs now. */
export function processesOf(root: number, target: Exclude<Target, 'postgres'>): readonly number[] {
  const tree = descendants(root)
  const those = (fits: (one: Seen) => boolean): number[] => tree.filter(fits).map(({ pid }) => pid)
  switch (target) {
    case 'gateway':
      return [root]
    case 'event-store':
      return those(({ command }) => /infra\/embedded\/eventstore\/main\./.test(command))
    case 'projector':
      return those(({ command }) => /src\/cli\/projector-process\./.test(command))
    case 'database-session':
      // Postgres answers the violent end of one of its sessions by restarting them all.
      return those(isSession).slice(0, 1)
    case 'database-sessions':
      return those(isSession)
    case 'everything':
      return tree.map(({ pid }) => pid)
  }
}

/** Sends a signal; false when the process is gone. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name)
    return true
  } catch {
    return false
  }
}

/** A process for good: its number alone is given to another one day. */
export interface Known {
  readonly pid: number
  /** When it started, in the kernel's own count; empty where that cannot be told. */
  readonly started: string
}

function statOf(pid: number): readonly string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

/** Remembers who a process is. */
export function identify(pid: number): Known {
  return { pid, started: statOf(pid)?.[19] ?? '' }
}

/** Whether that very process still runs; one that ended and was not waited for does not. */
export function isAlive({ pid, started }: Known): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  if (!existsSync('/proc/self/stat')) return true
  const stat = statOf(pid)
  return stat !== undefined && stat[0] !== 'Z' && stat[19] === started
}
