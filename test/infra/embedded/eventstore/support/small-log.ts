import { deepEqual } from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import type { Test } from 'tap'
import { ServerLog } from '../../../../../infra/embedded/eventstore/log.ts'
import type { StreamCommand } from '../../../../../infra/embedded/eventstore/types.ts'

/** Small logs whose files are looked at and changed. */

export const EVENTS = 60
const STREAMS = 7

/** The folder of the running file, from its `makeLog` on. */
export let root = ''

export function append(stream: string, n: number): StreamCommand {
  const event = {
    id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    type: 'T',
    isJson: true,
    data: Buffer.from(JSON.stringify({ n, text: 'x'.repeat((n * 37) % 900) })),
    metadata: Buffer.alloc(0),
  }
  const expected = { kind: 'any' } as const
  const isAbandoned = (): boolean => false
  return { kind: 'append', stream, expected, events: [event], sizeBytes: 1_000, isAbandoned }
}

export async function fill(log: ServerLog, from: number, to: number): Promise<void> {
  for (let n = from; n < to; n += 1) await log.submit(append(`s${n % STREAMS}`, n))
}

/** A log with tables and a file of writes, closed as a killed process leaves it. */
export async function makeLog(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-log-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  root = folder
  const dir = join(root, 'whole')
  const log = await ServerLog.open(dir)
  await fill(log, 0, EVENTS / 2)
  await log.close()
  const level = new ClassicLevel(join(dir, 'db'))
  await level.open()
  await level.compactRange('', '~')
  await level.close()
  const running = await ServerLog.open(dir)
  await fill(running, EVENTS / 2, EVENTS)
  const killed = join(root, 'killed')
  await cp(dir, killed, { recursive: true })
  await running.close()
  return killed
}

export async function copied(from: string, name: string): Promise<string> {
  const to = join(root, name)
  await cp(from, to, { recursive: true })
  return to
}

/** All events by the log, which must be those of its streams. @throws {LogError} */
export async function eventsOf(log: ServerLog): Promise<readonly string[]> {
  const range = { from: 1, to: Number.MAX_SAFE_INTEGER }
  const all = (await log.readAll(range, 1_000, false)).map((record) => sha256(record))
  const byStream: string[] = []
  for (let n = 0; n < STREAMS; n += 1) {
    const { last } = await log.head(`s${n}`)
    const page = await log.readStream(`s${n}`, { from: 0, to: last }, 1_000, false)
    byStream.push(...page.map((record) => sha256(record)))
  }
  deepEqual(byStream.toSorted(), all.toSorted(), 'the streams have the events of the log')
  return all
}

export const sha256 = (bytes: Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex')

/** The entries of a log as they are stored. */
export async function openStored(dir: string): Promise<ClassicLevel<Buffer, Buffer>> {
  const options = { keyEncoding: 'buffer', valueEncoding: 'buffer' } as const
  const level = new ClassicLevel<Buffer, Buffer>(join(dir, 'db'), options)
  await level.open()
  return level
}

/** Changes the stored bytes of one entry. */
export async function spoil(dir: string, key: Buffer): Promise<void> {
  const level = await openStored(dir)
  const value = await level.get(key)
  if (value === undefined) throw new Error('there is no such entry')
  value[3] = (value[3] ?? 0) ^ 1
  await level.put(key, value)
  await level.close()
}
