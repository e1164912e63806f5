import { readdirSync, readFileSync } from 'node:fs'
import { decodeEvent } from '../../src/eventlog/log/codec.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'

/** One file per event type and schema version that was ever written: they decode for ever. */
export interface EventFixture {
  readonly file: string
  readonly type: string
  readonly schemaVersion: number
  readonly data: unknown
}

const folder = new URL('../fixtures/events/', import.meta.url)
export const eventFixtures: readonly EventFixture[] = readdirSync(folder)
  .sort()
  .map((file) => ({ file, ...JSON.parse(readFileSync(new URL(file, folder), 'utf8')) }))

/** A fixture as the log gives it back. */
export function decodeFixture({ type, schemaVersion, data }: EventFixture): RecordedEvent {
  const metadata = { schemaVersion, correlationId: 'req_1', commandId: 'req_1' }
  const bytes = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))
  return decodeEvent({
    id: '00000000-0000-5000-8000-000000000000',
    type,
    data: bytes(data),
    metadata: bytes(metadata),
    stream: 'fixture',
    revision: 0n,
    position: 0n,
    recordedAt: new Date(0),
  })
}
