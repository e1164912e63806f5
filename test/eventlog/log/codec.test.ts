import { readdir, readFile } from 'node:fs/promises'
import t from 'tap'
import { eventSchemas } from '../../../src/domain/any-event.ts'
import {
  decodeEvent,
  encodeEvent,
  upcast,
  type WireEvent,
} from '../../../src/eventlog/log/codec.ts'
import type { NewEvent } from '../../../src/eventlog/log/types.ts'
import { cancelled } from '../support/sample-events.ts'

function wireOf(event: NewEvent, changes: Partial<WireEvent> = {}): WireEvent {
  const { id, type, data, metadata } = encodeEvent(event)
  return {
    id,
    type,
    data,
    metadata,
    stream: 'task-1',
    revision: 3n,
    position: 77n,
    recordedAt: new Date('2025-01-02T00:00:00.000Z'),
    ...changes,
  }
}
/** How `test/fixtures/events` keeps what was once written. */
interface Fixture {
  readonly type: string
  readonly schemaVersion: number
  readonly data: unknown
}
const json = (value: unknown) => Buffer.from(JSON.stringify(value))
const event = cancelled('task-1', 'c1')

void t.test('an event decodes to the encoded event', async (t) => {
  t.same(decodeEvent(wireOf(event)), {
    ...event,
    stream: 'task-1',
    revision: 3n,
    position: 77n,
    recordedAt: new Date('2025-01-02T00:00:00.000Z'),
  })
})

void t.test('event_invalid on append', async (t) => {
  const broken: Readonly<Record<string, unknown>> = {
    'unknown type': { ...event, type: 'TaskExploded' },
    'missing field': { ...event, data: { platformId: 'video_1' } },
    'wrong kind of value': { ...event, data: { platformId: 7, cancelledAt: 'x' } },
    'no correlation': { ...event, metadata: { ...event.metadata, correlationId: '' } },
    'future version': { ...event, metadata: { ...event.metadata, schemaVersion: 2 } },
    'id that is no UUID': { ...event, id: 'one' },
  }
  for (const [title, value] of Object.entries(broken))
    t.throws(() => encodeEvent(value as NewEvent), { code: 'event_invalid' }, title)
})

void t.test('a refusal names the field, never the value', async (t) => {
  const secret = { ...event, data: { platformId: ['sk-secret'], cancelledAt: 'x' } }
  t.throws(() => encodeEvent(secret as unknown as NewEvent), {
    message: /data \/platformId: Expected string/,
  })
  try {
    encodeEvent(secret as unknown as NewEvent)
  } catch (error) {
    t.notMatch(JSON.stringify(error) + String(error), /sk-secret/)
  }
})

void t.test('an unknown event type in the log names stream, position and type', async (t) => {
  t.throws(() => decodeEvent(wireOf(event, { type: 'TaskExploded' })), {
    code: 'event_invalid',
    message: /TaskExploded in task-1 at 77 .*unknown event type/,
    details: { stream: 'task-1', position: '77', type: 'TaskExploded' },
  })
})

void t.test('event_invalid on read of data or metadata that do not match', async (t) => {
  const changes: Readonly<Record<string, Partial<WireEvent>>> = {
    'not JSON': { data: Buffer.from('{') },
    'data of another shape': { data: json({ platformId: 'video_1' }) },
    'no metadata': { metadata: new Uint8Array() },
    'metadata of another shape': { metadata: json({ schemaVersion: 1 }) },
    'version of the future': { metadata: json({ ...event.metadata, schemaVersion: 9 }) },
  }
  for (const [title, change] of Object.entries(changes))
    t.throws(() => decodeEvent(wireOf(event, change)), { code: 'event_invalid' }, title)
})

void t.test('the current version is not changed, unknown versions are refused', async (t) => {
  const data = { a: 1 }
  t.equal(upcast('TaskCancelled', 1, data), data)
  for (const version of [0, 2, 1.5]) t.throws(() => upcast('TaskCancelled', version, data))
})

void t.test('every recorded event decodes, and every type has a recorded one', async (t) => {
  const directory = new URL('../../fixtures/events/', import.meta.url)
  const names = (await readdir(directory)).filter((name) => name.endsWith('.json'))
  const types = new Set<string>()
  for (const name of names) {
    const fixture = JSON.parse(await readFile(new URL(name, directory), 'utf8')) as Fixture
    const { type, schemaVersion } = fixture
    types.add(type)
    const metadata = json({ ...event.metadata, schemaVersion })
    const wire = wireOf(event, { type, data: json(fixture.data), metadata })
    t.equal(decodeEvent(wire).type, type, name)
  }
  t.same([...types].sort(), Object.keys(eventSchemas).sort())
})
