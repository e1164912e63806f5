import * as fc from 'fast-check'
import type { PoolClient } from 'pg'
import t from 'tap'
import { applyWithin } from '../../projections/engine/apply.ts'
import { migrateEngine } from '../../projections/engine/migrate.ts'
import { readPassedOver } from '../../projections/engine/passed-over.ts'
import { useSchema } from '../../projections/engine/transaction.ts'
import { allProjections } from '../../projections/registry.ts'
import { audit } from '../../src/app/audit/audit.ts'
import { accountStream } from '../../src/domain/account/events.ts'
import { eventSchemas, isFirstOfSource, type AnyEvent } from '../../src/domain/any-event.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { decodeFixture, eventFixtures } from '../helpers/event-fixtures.ts'
import { propertyRuns } from '../helpers/property-runs.ts'
import { applied, testPool } from './support/database.ts'
import { Recorder } from './support/history.ts'
import { ScriptedLog } from './support/memory-log.ts'

/** The things that all events are about, so that each meets what others left. */
const SAME = {
  tenantId: 'tenant_1',
  userId: 'user_1',
  tokenId: 'tok_1',
  platformId: 'video_01J00000000000000000000001',
  callId: 'call_1',
  fileId: 'file_1',
  assetId: 'asset_1',
  groupId: 'group_1',
  verificationId: 'verification_1',
  proposalId: 'proposal_1',
  grantId: 'grant_1',
  adjustmentId: 'adjustment_1',
} as const

/** One event of a type, about those things. */
function eventOf(type: string): AnyEvent {
  const fixture = eventFixtures.findLast((one) => one.type === type)
  if (fixture === undefined) throw new Error(`no fixture of ${type}`)
  const { data } = decodeFixture(fixture)
  const own = Object.entries(SAME).filter(([name]) => name in data)
  return { type, data: { ...data, ...Object.fromEntries(own) } } as AnyEvent
}

const types = Object.keys(eventSchemas)

function historyOf(sequence: readonly string[]): readonly RecordedEvent[] {
  const recorder = new Recorder()
  return sequence.map((type) => recorder.record('stream', eventOf(type), SAME.tenantId))
}

/** What is in the read models after events that came in batches of a size, and what they passed over. */
async function after(
  client: PoolClient,
  history: readonly RecordedEvent[],
  batchSize: number,
): Promise<{ readonly digests: readonly unknown[]; readonly passedOver: readonly string[] }> {
  await client.query(`begin; set local timezone to 'UTC'`)
  try {
    const digests: unknown[] = []
    for (const projection of allProjections) {
      await useSchema(client, projection.name)
      for (let at = 0; at < history.length; at += batchSize) {
        const batch = history.slice(at, at + batchSize)
        const handled = batch.filter(({ type }) => projection.handles.has(type))
        await applyWithin(client, projection, handled)
      }
      digests.push(await projection.digest(client))
    }
    const notes = await readPassedOver(client, 10_000)
    const typeOf = new Map(history.map(({ position, type }) => [position, type]))
    const passedOver = notes.map(
      ({ projection, position, reason }) =>
        `${projection} ${position} ${typeOf.get(position)}: ${reason.length > 0}`,
    )
    return { digests, passedOver }
  } finally {
    await client.query('rollback')
  }
}

t.test('no order of events stops a read model, in any batches', async (t) => {
  const pool = await testPool(t, 2)
  await migrateEngine(pool, allProjections)
  const client = await pool.connect()
  t.teardown(() => client.release())

  const marks = async (...sequence: readonly string[]): Promise<readonly string[]> => {
    const { passedOver } = await after(client, historyOf(sequence), 1)
    return passedOver.map((note) => note.replace(/ \d+ /, ' '))
  }
  await t.test('an end without its beginning is marked', async (t) => {
    const begins = new Set([
      'TenantOpened',
      'UserAdded',
      'PostingProposed',
      'PeriodClosed',
      'TaskRequested',
    ])
    for (const type of types.filter(
      (one) => !begins.has(one) && !isFirstOfSource({ type: one } as AnyEvent),
    )) {
      const found = await marks(type)
      const [, model] =
        (
          [
            [/^Task/, 'tasks'],
            [/^(?:Asset(?!Used)|Verification)/, 'assets'],
            [/^(?:Token|UserRenamed|TenantNamed|TenantStatusSet|BalanceAlertsSet)/, 'access'],
            [/^FileDeleted/, 'files'],
            [/^Posting/, 'proposals'],
            [/^(?:Void|Period)/, 'statements'],
          ] as const
        ).find(([pattern]) => pattern.test(type)) ?? []
      if (model === undefined) continue
      t.ok(found.includes(`${model} ${type}: true`), `${type}: ${found.join(', ')}`)
    }
  })
  await t.test('a second beginning is marked', async (t) => {
    for (const [model, type] of [
      ['tasks', 'TaskRequested'],
      ['ledger', 'TaskRequested'],
      ['access', 'TenantOpened'],
      ['access', 'UserAdded'],
      ['access', 'TokenIssued'],
      ['proposals', 'PostingProposed'],
      ['statements', 'PeriodClosed'],
      ['statements', 'StatementKeyPublished'],
      ['prices', 'PriceBookPublished'],
      ['files', 'FileUploaded'],
      ['voices', 'MediaUploaded'],
      ['assets', 'AssetCreated'],
      ['assets', 'AssetGroupCreated'],
      ['assets', 'VerificationStarted'],
    ] as const) {
      const found = await marks(type, type)
      t.equal(found.filter((note) => note === `${model} ${type}: true`).length, 1, type)
    }
  })
  await t.test('in any order the rows are the same, one by one and at once', async (t) => {
    const property = fc.asyncProperty(
      fc.array(fc.constantFrom(...types), { minLength: 20, maxLength: 60 }),
      fc.integer({ min: 2, max: 60 }),
      async (sequence, batchSize) => {
        const history = historyOf(sequence)
        const [alone, together] = [
          await after(client, history, 1),
          await after(client, history, batchSize),
        ]
        t.same(together, alone)
      },
    )
    const { failed, errorInstance, counterexample } = await fc.check(property, {
      numRuns: propertyRuns(12),
      seed: 44,
    })
    t.notOk(failed, `${JSON.stringify(counterexample)}: ${String(errorInstance)}`)
  })
})

t.test(
  'the approval of a proposal that the log lacks stops no tenant, and the audit names it',
  async (t) => {
    const pool = await testPool(t)
    const recorder = new Recorder()
    const record = (
      type: string,
      ids: { readonly tenantId: string; readonly proposalId: string },
    ): RecordedEvent => {
      const event = eventOf(type)
      const data = { ...event.data, ...ids }
      return recorder.record(accountStream(ids.tenantId), { ...event, data } as AnyEvent)
    }
    const made = record('PostingProposed', { tenantId: 'tenant_2', proposalId: 'proposal_2' })
    const stray = record('PostingApproved', { tenantId: 'tenant_1', proposalId: 'proposal_0' })
    const events = [
      made,
      stray,
      record('PostingApproved', { tenantId: 'tenant_2', proposalId: 'proposal_2' }),
      record('PostingProposed', { tenantId: 'tenant_1', proposalId: 'proposal_1' }),
    ]
    await applied(t, pool, events, allProjections)
    const { rows } = await pool.query(
      'select proposal_id, state from proposals.proposals order by proposal_id',
    )
    t.same(rows, [
      { proposal_id: 'proposal_1', state: 'proposed' },
      { proposal_id: 'proposal_2', state: 'approved' },
    ])
    t.match(await readPassedOver(pool, 10), [
      {
        projection: 'proposals',
        position: stray.position,
        eventId: stray.id,
        reason: /never made/,
      },
    ])
    const log = new ScriptedLog(events)
    const report = await audit({ pool, log, models: allProjections })
    t.match(report.findings, [
      { code: 'approval_missing', table: 'log', position: stray.position.toString() },
    ])
  },
)
