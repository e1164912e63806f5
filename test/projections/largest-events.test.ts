import type { TSchema } from '@sinclair/typebox'
import * as fc from 'fast-check'
import type { PoolClient } from 'pg'
import t from 'tap'
import { migrateEngine } from '../../projections/engine/migrate.ts'
import { useSchema } from '../../projections/engine/transaction.ts'
import { allProjections } from '../../projections/registry.ts'
import { accountDecider, type AccountCommand } from '../../src/domain/account/decider.ts'
import { type AnyEvent, eventSchemas, sourceOf, timeOf } from '../../src/domain/any-event.ts'
import { priceBookFromDocument } from '../../src/domain/pricing/price-book-document.ts'
import { settlement, settlementLine } from '../../src/domain/pricing/settlement.ts'
import { tokenDecider } from '../../src/domain/token/decider.ts'
import { sha256Hex } from '../../src/kernel/ids.ts'
import { encodeEvent } from '../../src/eventlog/log/codec.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { decodeFixture, eventFixtures } from '../helpers/event-fixtures.ts'
import { propertyRuns } from '../helpers/property-runs.ts'
import { testPool } from './support/database.ts'
import { Recorder } from './support/history.ts'

/**
 * Whatever is let into the log must fit into every read model: one event that does not stops it for
 * good. Each type of event is made as large and as odd as what decides it lets through, twice over,
 * so that sums are of two of them.
 */

/** Does not compress: an index of Postgres holds no more than 2,700 bytes. */
const incompressible = (characters: number): string =>
  Array.from({ length: characters }, (_, n) =>
    String.fromCodePoint(0x4e00 + (Number.parseInt(sha256Hex(String(n)).slice(0, 6), 16) % 20_000)),
  ).join('')
/** Each is one run at least. */
const longTexts = [incompressible(4_000), incompressible(256)]

const odd = {
  text: fc.constantFrom(
    '',
    ' ',
    '\0',
    '\ud800',
    'a\udfffb',
    '\\"{},NULL\n\r\t',
    "'; drop table x; --",
    '\u{10ffff}'.repeat(300),
    '１２３＝',
    'x'.repeat(100_000),
    ...longTexts,
    '\u202e‮',
  ),
  integer: fc.constantFrom(0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 53 - 1, -1),
  number: fc.constantFrom(0, -0, 5e-324, 1.7976931348623157e308, -1e22, 2 ** 53 - 1),
  amount: fc.constantFrom(
    '999999999999999.999999999999',
    '0.000000000001',
    '99999999999999999999999999',
    '60000000000000000000000000',
    '1e9',
  ),
}

/** Members that callers, operators and providers write freely; what else is text was checked or made here. */
const FREE =
  /^(?:name|reason|text|message|code|filename|description|upstreamStatus|upstreamRequestId|endedBy|serviceTier|webhookUrl|ratio|word|actor|projectName)$/
const TIME = /(?:At|Until)$|^effectiveFrom$/
/** Counted by the account and by closes from their own events. */
const COUNTED = /^(?:revision|secretVersion|n|attempt)$/
const times = fc.constantFrom('1970-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z')
/** The longest that adapters take (`upstreamIdOf`), of characters that do not compress. */
const nativeIds = fc
  .array(fc.integer({ min: 0x21, max: 0x7e }), { minLength: 200, maxLength: 200 })
  .map((codes) => String.fromCharCode(...codes))

interface Leaf {
  readonly name: string
  readonly schema: TSchema
  readonly value: unknown
  readonly set: (value: unknown) => void
}

/** The members of an event's data that hold a plain value. */
function leavesOf(schema: TSchema, holder: Record<string, unknown>): readonly Leaf[] {
  return Object.entries(holder).flatMap(([name, value]): readonly Leaf[] => {
    const properties = schema['properties'] as Record<string, TSchema> | undefined
    const patterns = schema['patternProperties'] as Record<string, TSchema> | undefined
    const member = properties?.[name] ?? Object.values(patterns ?? {})[0] ?? {}
    const isPlain = typeof value !== 'object' || value === null
    if (!isPlain && !Array.isArray(value))
      return leavesOf(member as TSchema, value as Record<string, unknown>)
    if (!isPlain) return []
    const set = (next: unknown): void => {
      holder[name] = next
    }
    return [{ name, schema: member as TSchema, value, set }]
  })
}

function oddFor({ name, schema, value }: Leaf): fc.Arbitrary<unknown> | undefined {
  if (typeof value === 'number') {
    if (COUNTED.test(name)) return undefined
    const options = (schema['anyOf'] as readonly TSchema[] | undefined) ?? [schema]
    const whole = options.find((one) => one['type'] === 'integer')
    if (whole === undefined) return odd.number
    const { minimum = -Infinity, maximum = Infinity } = whole as Record<string, number>
    return odd.integer.filter((n) => n >= minimum && n <= maximum)
  }
  if (typeof value !== 'string' || schema['const'] !== undefined) return undefined
  if (name === 'nativeId' || name === 'nativeGroupId') return nativeIds
  if (TIME.test(name)) return times
  return FREE.test(name) && schema['type'] === 'string' ? odd.text : undefined
}

/** Ids that a second thing of the kind has otherwise. */
const OWN_IDS =
  /^(?:platformId|callId|fileId|assetId|groupId|verificationId|grantId|adjustmentId|proposalId|secretHash|version|voiceId|vkey)$/
const dataOf = (type: string): Record<string, unknown> => {
  const fixture = eventFixtures.find((one) => one.type === type)
  if (fixture === undefined) throw new Error(`no fixture of ${type}`)
  return structuredClone(decodeFixture(fixture).data) as unknown as Record<string, unknown>
}

/** The event that begins what an event is about. */
function beginningOf(type: string): string {
  const [, begins = 'TenantOpened'] =
    (
      [
        [/^Task/, 'TaskRequested'],
        [/^UserRenamed/, 'UserAdded'],
        [/^AssetGroup/, 'AssetGroupCreated'],
        [/^Asset/, 'AssetCreated'],
        [/^Verification/, 'VerificationStarted'],
        [/^File/, 'FileUploaded'],
        [/^Token/, 'TokenIssued'],
        [/^(?:Void|PeriodVoided)/, 'PeriodClosed'],
        [/^Posting(?:Approved|Rejected)/, 'PostingProposed'],
      ] as const
    ).find(([pattern]) => pattern.test(type)) ?? []
  return begins
}

/** Gives the second of two things its own ids. */
function numbered(type: string, n: number, data: Record<string, unknown>): void {
  for (const name of Object.keys(data)) {
    const value = data[name]
    const own = OWN_IDS.test(name) || (name === 'tokenId' && type.startsWith('Token'))
    if (typeof value === 'string' && (own || (name === 'userId' && type === 'UserAdded')))
      data[name] = `${value.slice(0, -1)}${n}`
  }
  if ('attempt' in data) data['attempt'] = n
}

const opened = accountDecider.evolve(accountDecider.initial, {
  type: 'TenantOpened',
  data: { tenantId: 'tenant_1', name: 'x', openedAt: '2026-01-01T00:00:00.000Z' },
})

/** Money as those who decide it leave it, from the oddest that they are given; undefined: refused. */
function settledOf(data: Record<string, unknown>, quantity: number): void {
  const holder = (data['absorbed'] ?? data) as { settlement?: unknown }
  const rated = { sku: 's', rule: 'r', unit: 'u', price: '999999999.999999', per: 1 } as const
  const lines = Array.from({ length: 16 }, () => settlementLine(rated, quantity, 'reported'))
  holder.settlement = settlement({ priceBookVersion: 'v', currency: 'USD' }, lines)
}

function commandOf(event: AnyEvent, amount: string): AccountCommand | undefined {
  if (event.type === 'CreditGranted')
    return { kind: 'grant', ...event.data, amount, at: event.data.grantedAt }
  if (event.type === 'CreditLimitSet')
    return {
      kind: 'set-limit',
      limitId: 'limit',
      ...event.data,
      limit: amount,
      at: event.data.setAt,
    }
  if (event.type === 'TenantStatusSet') {
    const { tenantId, status, reason, suspendedUsers, setAt: at } = event.data
    const wanted = { tenant: { status, reason }, suspendedUsers }
    return { kind: 'set-setting', setting: 'status', tenantId, wanted, at }
  }
  if (event.type === 'TenantNamed') {
    const { tenantId, name, setAt: at } = event.data
    return { kind: 'set-setting', setting: 'name', tenantId, wanted: { name }, at }
  }
  if (event.type === 'UserRenamed')
    return { kind: 'rename-user', ...event.data, at: event.data.renamedAt }
  if (event.type !== 'AdjustmentPosted') return undefined
  const { tenantId, currency } = event.data
  const line = { lineId: 'call_1:1', tenantId, currency, amount: '999999999999999' }
  const correction = { kind: 'line', line } as const
  return { kind: 'post-adjustment', ...event.data, amount, correction, at: event.data.postedAt }
}

/** The account with the user that an event renames. */
function withUserOf(event: AnyEvent, account: typeof opened): typeof opened {
  if (event.type !== 'UserRenamed') return account
  const { tenantId, userId, renamedAt: addedAt } = event.data
  const data = { tenantId, userId, name: 'before', addedAt }
  return accountDecider.evolve(account, { type: 'UserAdded', data })
}

/** An event as what decides it lets it through; undefined where it is refused. */
function letThrough(
  event: AnyEvent,
  { amount, quantity }: { readonly amount: string; readonly quantity: number },
  account: typeof opened,
): AnyEvent | undefined {
  try {
    const command = commandOf(event, amount)
    if (command !== undefined) return accountDecider.decide(command, withUserOf(event, account))[0]
    if (event.type === 'TokenIssued')
      return tokenDecider.decide({ kind: 'issue', data: event.data }, tokenDecider.initial)[0]
    if (event.type === 'PriceBookPublished') {
      const { version, effectiveFrom, entries } = event.data
      priceBookFromDocument(
        { version, effective_from: effectiveFrom, prices: entries },
        () => undefined,
      )
    }
    if (event.type === 'TaskSettled' || event.type === 'CallSettled' || event.type === 'CallFailed')
      settledOf(event.data, quantity)
    return event
  } catch {
    return undefined
  }
}

/** The history of two things of a kind, the last event of each as odd as may be. */
function historyOf(
  type: string,
  money: { readonly amount: string; readonly quantity: number },
  pick: (arbitrary: fc.Arbitrary<unknown>) => unknown,
): readonly RecordedEvent[] {
  const recorder = new Recorder()
  const record = (kind: string, data: Record<string, unknown>): RecordedEvent | undefined => {
    const made = { type: kind, data } as unknown as AnyEvent
    const event = kind === type ? letThrough(made, money, account) : made
    if (event === undefined) return undefined
    const recorded = recorder.record(`stream-${sourceOf(event) ?? 'account'}`, event, 'tenant_1')
    try {
      encodeEvent(recorded)
    } catch {
      return undefined
    }
    if (kind === type && commandOf(event, '0') !== undefined)
      account = accountDecider.evolve(account, event as Parameters<typeof accountDecider.evolve>[1])
    return recorded
  }
  let account = opened
  const isOfTenant = beginningOf(type) === 'TenantOpened'
  const before = type === 'TenantOpened' ? [] : [record('TenantOpened', dataOf('TenantOpened'))]
  const both = (type === 'TenantOpened' ? [1] : [1, 2]).flatMap((n) => {
    const beginning = beginningOf(type)
    const first = beginning === type || isOfTenant ? [] : [beginning]
    return [...first, type].map((kind) => {
      const data = dataOf(kind)
      // Only a model token has limits, and it has no subject.
      if (kind === 'TokenIssued')
        for (const [name, value] of [['kind', 'model'], ['scope'], ['role'], ['subject']])
          data[name ?? ''] = value
      if ('platformId' in data) data['platformId'] = dataOf('TaskRequested')['platformId']
      numbered(kind, n, data)
      if (kind === type)
        for (const leaf of leavesOf(eventSchemas[type as keyof typeof eventSchemas], data)) {
          const arbitrary = oddFor(leaf)
          if (arbitrary !== undefined) leaf.set(pick(arbitrary))
        }
      return record(kind, data)
    })
  })
  return [...before, ...both].filter((event) => event !== undefined)
}

async function applyAll(client: PoolClient, history: readonly RecordedEvent[]): Promise<void> {
  for (const { name, handles, apply } of allProjections) {
    const handled = history.filter((event) => handles.has(event.type))
    await client.query(`begin; set local timezone to 'UTC'`)
    try {
      await useSchema(client, name)
      // One by one: the second is added to what the first left.
      for (const event of handled) await apply(client, [event])
    } catch (error) {
      const last = JSON.stringify(handled.at(-1)?.data).slice(0, 1_000)
      throw new Error(`${name}: ${String(error)}: ${last}`, { cause: error })
    } finally {
      await client.query('rollback')
    }
  }
}

t.test('the largest and oddest events of every type fit into every read model', async (t) => {
  const pool = await testPool(t, 2)
  await migrateEngine(pool, allProjections)
  for (const { name, indexesSql } of allProjections)
    await pool.query(`set search_path to "${name}"; ${indexesSql}; reset search_path`)
  const client = await pool.connect()
  t.teardown(() => client.release())
  for (const type of Object.keys(eventSchemas)) {
    let applied = 0
    const property = fc.asyncProperty(
      fc.record({ amount: odd.amount, quantity: fc.constantFrom(1, 2 ** 53 - 1) }),
      fc.gen(),
      async (money, gen) => {
        const history = historyOf(type, money, (arbitrary) => gen(() => arbitrary))
        applied += history.filter((event) => event.type === type).length
        for (const event of history) timeOf(event)
        await applyAll(client, history)
      },
    )
    for (const text of longTexts) {
      const money = { amount: '999999999999999.999999999999', quantity: 2 ** 53 - 1 }
      const pick = (arbitrary: fc.Arbitrary<unknown>): unknown =>
        arbitrary === odd.text ? text : fc.sample(arbitrary, { numRuns: 1, seed: 44 })[0]
      await applyAll(client, historyOf(type, money, pick))
    }
    const { failed, errorInstance } = await fc.check(property, {
      numRuns: propertyRuns(4),
      seed: 44,
      endOnFailure: true,
    })
    t.notOk(failed, `${type}: ${errorInstance instanceof Error ? errorInstance.message : ''}`)
    t.ok(applied > 0, `${type}: ${applied} events`)
  }
})
