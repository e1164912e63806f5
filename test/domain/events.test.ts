import type { TObject, TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import t from 'tap'
import { accountStream } from '../../src/domain/account/events.ts'
import { eventSchemas, streamPrefixes } from '../../src/domain/any-event.ts'
import { assetStream } from '../../src/domain/asset/events.ts'
import { assetGroupStream } from '../../src/domain/asset-group/events.ts'
import { fileStream } from '../../src/domain/file/events.ts'
import { journalStream } from '../../src/domain/call/events.ts'
import { priceBookStream } from '../../src/domain/pricing/events.ts'
import { taskStream } from '../../src/domain/task/events.ts'
import { tokenStream } from '../../src/domain/token/events.ts'
import { uploadStream } from '../../src/domain/upload/events.ts'
import { verificationStream } from '../../src/domain/verification/events.ts'
import { noteStream } from '../../src/domain/note/events.ts'
import { statementStream } from '../../src/domain/statement/events.ts'
import { savedViewStream } from '../../src/domain/saved-view/events.ts'
import { viewStream } from '../../src/domain/view/events.ts'
import { voiceStream } from '../../src/domain/voice/events.ts'
import { issuerStream } from '../../src/domain/issuer/events.ts'
import { installationStream } from '../../src/domain/installation/events.ts'
import { priceBookDigest } from '../../src/domain/pricing/price-book-document.ts'
import { currentSchemaVersion } from '../../src/eventlog/log/codec.ts'
import { lineAmount, parseAmount } from '../../src/kernel/money.ts'
import { decodeFixture as decode, eventFixtures as fixtures } from '../helpers/event-fixtures.ts'

/** Paths of an object schema's members, optional ones included. */
function memberPaths(schema: TSchema, at = ''): readonly string[] {
  if (schema['type'] !== 'object' || schema['properties'] === undefined) return []
  const { properties } = schema as TObject
  return Object.entries(properties).flatMap(([name, member]) => {
    const path = `${at}/${name}`
    return [path, ...memberPaths(member, path)]
  })
}

function at(data: unknown, path: string): unknown {
  return path
    .slice(1)
    .split('/')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], data)
}

t.test('every event type has a fixture of its current schema version', async (t) => {
  const names = new Set(fixtures.map(({ file }) => file))
  for (const type of Object.keys(eventSchemas))
    t.ok(names.has(`${type}.v${currentSchemaVersion(type)}.json`), type)
  t.ok(fixtures.length >= 23)
})

t.test('a fixture’s file is named by its type, version and kind', async (t) => {
  for (const { file, type, schemaVersion } of fixtures)
    t.match(file, new RegExp(`^${type}\\.v${schemaVersion}(\\.of-[a-z-]+)?\\.json$`))
})

t.test('every fixture decodes, whatever its version', async (t) => {
  for (const fixture of fixtures) {
    const event = decode(fixture)
    t.equal(event.type, fixture.type, fixture.file)
    t.ok(Value.Check(eventSchemas[event.type], event.data))
  }
})

t.test('a current fixture shows every member of its schema and no other', async (t) => {
  for (const fixture of fixtures) {
    const schema: TSchema = eventSchemas[decode(fixture).type]
    if (fixture.schemaVersion !== currentSchemaVersion(fixture.type)) continue
    for (const path of memberPaths(schema))
      t.not(at(fixture.data, path), undefined, `${fixture.file} ${path}`)
    t.strictSame(Value.Clean(schema, structuredClone(fixture.data)), fixture.data, fixture.file)
  }
})

t.test('an event from before an optional member existed decodes', async (t) => {
  let dropped = 0
  for (const fixture of fixtures) {
    const { required = [] } = eventSchemas[decode(fixture).type] as TObject
    const data = { ...(fixture.data as Record<string, unknown>) }
    for (const name of Object.keys(data)) {
      if (required.includes(name)) continue
      const { [name]: _, ...rest } = data
      t.same(decode({ ...fixture, data: rest }).data, rest, `${fixture.file} without ${name}`)
      dropped += 1
    }
  }
  t.ok(dropped > 10, `${dropped} members`)
})

t.test('a changed fixture does not decode', async (t) => {
  for (const fixture of fixtures) {
    const data = { ...(fixture.data as object) }
    const [first] = Object.keys(data)
    t.throws(() => decode({ ...fixture, data: { ...data, [first ?? '']: 5.5 } }), fixture.file)
    t.throws(() => decode({ ...fixture, schemaVersion: 99 }), `${fixture.file} of version 99`)
  }
})

t.test('settlements in fixtures recompute for ever', async (t) => {
  const settlements = fixtures
    .map(decode)
    .flatMap((event) =>
      event.type === 'TaskSettled' || event.type === 'CallSettled' ? [event.data.settlement] : [],
    )
  t.ok(settlements.length >= 2)
  for (const { amount, lines } of settlements) {
    for (const line of lines)
      t.equal(lineAmount(line.quantity, line.price, line.per), parseAmount(line.amount), line.sku)
    const sum = lines.reduce((sum, line) => sum + parseAmount(line.amount), 0n)
    t.equal(sum, parseAmount(amount))
  }
})

t.test('the digest of a published price book recomputes for ever', async (t) => {
  for (const event of fixtures.map(decode))
    if (event.type === 'PriceBookPublished')
      t.equal(priceBookDigest(event.data.entries), event.data.digest)
})

t.test('every stream name has a prefix that readers of the log filter by', (t) => {
  const streams = [
    accountStream('tenant_1'),
    assetGroupStream('group-1'),
    assetStream('asset-1'),
    fileStream('file-1'),
    journalStream('instance', 0),
    noteStream('tenant_1'),
    issuerStream,
    priceBookStream,
    savedViewStream('tenant_1'),
    statementStream('tenant_1'),
    taskStream('video_1'),
    tokenStream('token_1'),
    uploadStream('4611686018427388'),
    verificationStream('v1'),
    viewStream('tenant_1'),
    voiceStream({ tenantId: 'tenant_1', voiceId: 'MyVoice_001' }),
  ]
  t.equal(streams.length, streamPrefixes.length, 'each kind once')
  for (const stream of streams)
    t.equal(streamPrefixes.filter((prefix) => stream.startsWith(prefix)).length, 1, stream)
  // Read alone: a program of before it would not see its events, and would wait for them.
  t.notOk(streamPrefixes.some((prefix) => installationStream.startsWith(prefix)))
  // A namespace ends with its only dot: with one here it could begin like another's streams.
  for (const prefix of streamPrefixes) t.notMatch(prefix, /\./)
  t.end()
})
