import { type TSchema, Type } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { eventSchemas } from '../../domain/any-event.ts'
import { eventInvalid } from './errors.ts'
import type { EventMetadata, NewEvent, RecordedEvent } from './types.ts'

/** Persisted with every event; the shape of `EventMetadata`. */
const MetadataSchema = Type.Object({
  schemaVersion: Type.Integer({ minimum: 1 }),
  correlationId: Type.String({ minLength: 1 }),
  commandId: Type.String({ minLength: 1 }),
  causationId: Type.Optional(Type.String()),
  tenantId: Type.Optional(Type.String()),
  tokenId: Type.Optional(Type.String()),
  actor: Type.Optional(Type.String({ minLength: 1 })),
})

const metadataCheck = TypeCompiler.Compile(MetadataSchema)
const dataChecks: ReadonlyMap<string, TypeCheck<TSchema>> = new Map(
  Object.entries(eventSchemas).map(([type, schema]) => [type, TypeCompiler.Compile(schema)]),
)

/** An event as it goes over the wire: UTF-8 JSON bytes. */
export interface EncodedEvent {
  readonly id: string
  readonly type: string
  readonly data: Uint8Array
  readonly metadata: Uint8Array
  /** Bytes that an event adds to an append, including framing (rounded up). */
  readonly sizeBytes: number
}

/** An event as it came over the wire; `stream` includes the namespace. */
export interface WireEvent {
  readonly id: string
  readonly type: string
  readonly data: Uint8Array
  readonly metadata: Uint8Array
  readonly stream: string
  readonly revision: bigint
  readonly position: bigint
  readonly recordedAt: Date
}

const FRAMING_BYTES = 160
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** A retry, the size check and the append use the same encoded bytes. */
const encodings = new WeakMap<NewEvent, EncodedEvent>()

/** Describes where a value violates its schema: the path and the rule, never the value (P7). */
function firstFault(check: TypeCheck<TSchema>, value: unknown): string {
  const fault = check.Errors(value).First()
  return fault === undefined
    ? 'does not match its schema'
    : `${fault.path || '/'}: ${fault.message}`
}

function upcastOr(
  type: string,
  schemaVersion: number,
  data: unknown,
  invalid: (reason: string) => Error,
): unknown {
  try {
    return upcast(type, schemaVersion, data)
  } catch (error) {
    throw invalid(error instanceof Error ? error.message : 'it cannot be upcast')
  }
}

/** Validates and serialises. @throws `event_invalid` */
export function encodeEvent(event: NewEvent): EncodedEvent {
  const known = encodings.get(event)
  if (known !== undefined) return known
  const { type } = event
  const check = dataChecks.get(type)
  if (check === undefined) throw eventInvalid({ type, reason: 'unknown event type' })
  if (!UUID.test(event.id)) throw eventInvalid({ type, reason: 'its id is not a lower-case UUID' })
  if (!metadataCheck.Check(event.metadata))
    throw eventInvalid({ type, reason: `metadata ${firstFault(metadataCheck, event.metadata)}` })
  // An older version is accepted too: a program of an older release may have written the spool.
  const today = upcastOr(type, event.metadata.schemaVersion, event.data, (reason) =>
    eventInvalid({ type, reason }),
  )
  if (!check.Check(today)) throw eventInvalid({ type, reason: `data ${firstFault(check, today)}` })
  const data = Buffer.from(JSON.stringify(event.data))
  const metadata = Buffer.from(JSON.stringify(event.metadata))
  const sizeBytes = data.length + metadata.length + FRAMING_BYTES
  const encoded = { id: event.id, type, data, metadata, sizeBytes }
  encodings.set(event, encoded)
  return encoded
}

function parseJson(bytes: Uint8Array): unknown {
  return JSON.parse(
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'),
  ) as unknown
}

/**
 * Parses, upcasts and validates.
 * @throws `event_invalid` naming stream, position and type: the log holds something this program
 * does not understand, and no reader may skip it.
 */
export function decodeEvent(wire: WireEvent, namespace = ''): RecordedEvent {
  const { type } = wire
  const stream = wire.stream.slice(namespace.length)
  const invalid = (reason: string) =>
    eventInvalid({ type, reason, stream, position: String(wire.position) })
  const check = dataChecks.get(type)
  if (check === undefined) throw invalid('unknown event type')
  let data: unknown
  let metadata: unknown
  try {
    data = parseJson(wire.data)
    metadata = parseJson(wire.metadata)
  } catch {
    throw invalid('it is not JSON')
  }
  if (!metadataCheck.Check(metadata))
    throw invalid(`metadata ${firstFault(metadataCheck, metadata)}`)
  data = upcastOr(type, metadata.schemaVersion, data, invalid)
  if (!check.Check(data)) throw invalid(`data ${firstFault(check, data)}`)
  return {
    type,
    data,
    id: wire.id,
    metadata: metadata satisfies EventMetadata,
    stream,
    revision: wire.revision,
    position: wire.position,
    recordedAt: wire.recordedAt,
    // The check above proves that type and data belong together.
  } as RecordedEvent
}

/** An event in today's shape whose data is not yet validated against its type. */
interface KeptEvent extends Omit<WireEvent, 'data' | 'metadata'> {
  readonly data: unknown
  readonly metadata: unknown
}

/** Validates an event as a read model keeps it. @throws `event_invalid` */
export function recallEvent(kept: KeptEvent): RecordedEvent {
  const { type, stream, position } = kept
  const check = dataChecks.get(type)
  if (check?.Check(kept.data) === true && metadataCheck.Check(kept.metadata))
    return kept as RecordedEvent
  const reason = 'what a read model keeps of it does not match its schema'
  throw eventInvalid({ type, reason, stream, position: String(position) })
}

/**
 * The only place that names an old shape of an event. The n-th function of a type turns data of
 * schema version n into version n + 1; an additive optional field needs none.
 */
type Upcaster = (data: unknown) => unknown

const upcasters: Readonly<Record<string, readonly Upcaster[]>> = {}

/** Version written today for an event type, from 1. */
export function currentSchemaVersion(type: string): number {
  return (upcasters[type]?.length ?? 0) + 1
}

/**
 * Data of an older version in today's shape.
 * @throws RangeError for a version this program does not know.
 */
export function upcast(type: string, schemaVersion: number, data: unknown): unknown {
  const current = currentSchemaVersion(type)
  if (schemaVersion === current) return data
  if (!Number.isSafeInteger(schemaVersion) || schemaVersion < 1 || schemaVersion > current)
    throw new RangeError(`schema version ${schemaVersion}, known up to ${current}`)
  const steps = upcasters[type]?.slice(schemaVersion - 1) ?? []
  return steps.reduce((older, step) => step(older), data)
}
