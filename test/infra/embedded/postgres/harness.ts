import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import type { Test } from 'tap'
import { eventually } from '../../../helpers/eventually.ts'
import { supervisePostgres } from '../../../../infra/embedded/postgres/supervised.ts'
import type { PostgresOptions } from '../../../../infra/embedded/postgres/supervised.ts'
import type { Supervised } from '../../../../infra/embedded/supervisor.ts'

/** Means to start, look at and kill the real Postgres. */

export const BOUND_MS = 30_000

/** A folder that the server's account can reach, removed at the end. */
export function folder(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'postgres-'))
  chmodSync(path, 0o755)
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Supervises a server on `root` and ends it after the test. */
export function supervise(t: Test, root: string, more: Partial<PostgresOptions> = {}): Supervised {
  const child = supervisePostgres({
    log: () => undefined,
    readyTimeoutMs: BOUND_MS,
    ...more,
    root,
  })
  t.teardown(() => child.stop())
  return child
}

export async function query(url: string, text: string): Promise<readonly unknown[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: BOUND_MS })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

/** Waits until a query succeeds again. */
export async function served(url: string, text: string): Promise<readonly unknown[]> {
  let rows: readonly unknown[] = []
  await eventually(`an answer to ${text}`, async () => {
    try {
      rows = await query(url, text)
      return true
    } catch {
      return false
    }
  })
  return rows
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // One that ended but was not yet waited for is dead for us.
    return (
      process.platform !== 'linux' || !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
    )
  } catch {
    return false
  }
}

/** The server's process, from its own file. */
export function postmasterPid(root: string): number {
  return Number.parseInt(readFileSync(join(root, 'cluster', 'postmaster.pid'), 'utf8'), 10)
}

/** The servers that run on this cluster, by their command line. */
export function postmastersOn(root: string): readonly number[] {
  const data = `-D ${join(root, 'cluster')} `
  return processes()
    .map(({ pid, command }) => ({ pid, words: command.replaceAll('\0', ' ') }))
    .filter(
      ({ pid, words }) => words.includes(data) && !words.startsWith('/bin/sh') && isAlive(pid),
    )
    .map(({ pid }) => pid)
}

/** Whether any process names this cluster: its server, or a shell for it. */
export function isInUse(root: string): boolean {
  return processes().some(
    ({ pid, command }) => command.includes(join(root, 'cluster')) && isAlive(pid),
  )
}

/** The shell that watches over the server: the child of its supervisor that is no Postgres. */
export function guardPid(supervisor: number): number | undefined {
  return processes().find(
    ({ parent, command }) => parent === supervisor && command.startsWith('/bin/sh'),
  )?.pid
}

interface Listed {
  readonly pid: number
  readonly parent: number
  readonly command: string
}

/** Every process of the machine; small Linux images have no `ps`. */
function processes(): readonly Listed[] {
  if (process.platform !== 'linux') {
    const text = execFileSync('ps', ['-Axo', 'pid=,ppid=,command='], { encoding: 'utf8' })
    return text.split('\n').flatMap((line) => {
      const [, pid, parent, command = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? []
      return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), command }]
    })
  }
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const parent = /\) \S (\d+) /.exec(readFileSync(`/proc/${name}/stat`, 'utf8'))?.[1]
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8')
      return [{ pid: Number(name), parent: Number(parent), command }]
    } catch {
      return [] // It ended while we looked.
    }
  })
}
