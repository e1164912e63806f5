import { Pool } from 'pg'
import type { Test } from 'tap'
import { startProjections } from '../../../../../projections/engine/engine.ts'
import { waitForPosition } from '../../../../../projections/engine/wait.ts'
import { allProjections } from '../../../../../projections/registry.ts'
import { summedAtOnce } from '../../../../projections/support/summed.ts'
import {
  type AccountCommandDeps,
  changeAccount,
  openTenant,
} from '../../../../../src/app/accounts/account-commands.ts'
import { grantCredit, postAdjustment } from '../../../../../src/app/accounts/credit.ts'
import { keepLastAudit } from '../../../../../src/app/audit/last-audit.ts'
import { noCrash } from '../../../../../src/app/crash-points.ts'
import type { CloseDeps } from '../../../../../src/app/finance/statements/close.ts'
import { setIssuer } from '../../../../../src/app/finance/statements/issuer.ts'
import { createStatements } from '../../../../../src/app/finance/statements/statements.ts'
import { buildTree, type TreeJob } from '../../../../../src/app/finance/statements/tree.ts'
import type {
  StatementContext,
  Statements,
} from '../../../../../src/app/finance/statements/types.ts'
import type { AccountCommand } from '../../../../../src/domain/account/decider.ts'
import type { Person } from '../../../../../src/domain/account/postings.ts'
import type { SettingName, WantedOf } from '../../../../../src/domain/account/settings.ts'
import { type CallEvent, journalStream } from '../../../../../src/domain/call/events.ts'
import {
  type StatementCommand,
  statementDecider,
} from '../../../../../src/domain/statement/decider.ts'
import { statementStream } from '../../../../../src/domain/statement/events.ts'
import { createEventLog } from '../../../../../src/eventlog/log/client.ts'
import { currentSchemaVersion } from '../../../../../src/eventlog/log/codec.ts'
import { executeCommand } from '../../../../../src/eventlog/log/execute.ts'
import type { EventLog, NewEvent } from '../../../../../src/eventlog/log/types.ts'
import { catalog } from '../../../../../src/families/index.ts'
import { systemClock, toTimestamp } from '../../../../../src/kernel/clock.ts'
import { eventId, newId } from '../../../../../src/kernel/ids.ts'
import { silentLog } from '../../../../../src/kernel/log.ts'
import { type Currency, formatAmount, lineAmount } from '../../../../../src/kernel/money.ts'
import { noteSigner } from '../../../../../src/kernel/signed-note.ts'
import { surviveLostConnections } from '../../../../../src/storage/postgres/pool.ts'
import {
  newNamespace,
  startLocalEventStore,
  type TestEventStore,
} from '../../../../helpers/eventstore.ts'
import { acquireGatewayDatabase } from '../../../../helpers/postgres.ts'

/** Accounts whose months are closed over a real Postgres and an embedded log, under a clock that the test sets. */

export const ISSUER = 'gateway.example'
export const signer = noteSigner(`${ISSUER}/statements`, Buffer.alloc(32, 7))
export const shell: StatementContext = { correlationId: 'test', actor: 'tests', by: undefined }

/** The terms of a tenant's billing profile that a test chooses. */
export interface Billing {
  readonly timeZone?: string
  readonly numberPrefix?: string
  readonly graceHours?: number
  readonly legalName?: string
}

interface Line {
  readonly sku?: string
  readonly unit?: string
  readonly quantity?: number
  readonly price?: string
}

export interface PostedCall {
  readonly tenantId: string
  readonly currency: Currency
  readonly atMs: number
  readonly lines?: readonly Line[]
}

export interface ClosingWorld {
  readonly log: EventLog
  readonly pool: Pool
  readonly store: TestEventStore
  readonly eventStoreUrl: string
  readonly databaseUrl: string
  readonly namespace: string
  readonly clock: { nowMs: () => number; set: (time: string | number) => void }
  readonly access: AccountCommandDeps
  readonly deps: (over?: Partial<CloseDeps>) => CloseDeps
  readonly statements: Statements
  readonly statementsWith: (over: Partial<CloseDeps>) => Statements
  readonly tenant: (tenantId: string, billing?: Billing) => Promise<void>
  readonly tenantWithoutBilling: (tenantId: string) => Promise<void>
  /** Proposes a grant that waits for a second user. */
  readonly propose: (tenantId: string, currency: Currency, amount: string) => Promise<void>
  readonly billing: (tenantId: string, billing?: Billing) => Promise<void>
  readonly grant: (
    tenantId: string,
    currency: Currency,
    amount: string,
    credit?: 'paid' | 'promotional',
  ) => Promise<string>
  readonly refund: (
    tenantId: string,
    currency: Currency,
    lineId: string,
    amount: string,
  ) => Promise<string>
  /** Settles a call at a time that may be long ago, as a spool does; gives the ids of its lines. */
  readonly call: (call: PostedCall) => Promise<readonly string[]>
  readonly voidLast: (tenantId: string, currency: Currency, month: string) => Promise<void>
  readonly rename: (tenantId: string, name: string) => Promise<void>
  readonly setStatus: (tenantId: string, status: 'suspended' | 'closed') => Promise<void>
  readonly audited: (findings?: number) => Promise<void>
  /** Waits until every read model has everything the log has. */
  readonly settle: () => Promise<void>
  /** The same log with another database, whose read models are built anew. */
  readonly rebuilt: (t: Test) => Promise<Statements>
}

const person = (userId: string) => ({ tenantId: 'operator', userId, tokenId: `token_${userId}` })
const originOf = (of: Person) => ({ users: [of], secretMadeAt: '2025-01-01T00:00:00.000Z' })

/** Ends the event store at last; by default it is a part of the test, which cannot be killed. */
export async function startClosingWorld(
  t: Test,
  eventStore?: TestEventStore,
): Promise<ClosingWorld> {
  const database = await acquireGatewayDatabase()
  const store = eventStore ?? (await startLocalEventStore())
  const namespace = newNamespace()
  const log = createEventLog({ url: store.url, namespace })
  const pool = new Pool({ connectionString: database.url, max: 16, pipeline: true })
  surviveLostConnections(pool, () => undefined)
  let nowMs = Date.parse('2026-01-10T00:00:00Z')
  const clock = {
    nowMs: () => nowMs,
    set: (time: string | number) => {
      nowMs = typeof time === 'number' ? time : Date.parse(time)
    },
  }
  const engine = startEngine(pool, log)
  t.teardown(async () => {
    await engine.stop()
    await log.close()
    await pool.end()
    await store.stop()
    await database.drop()
  })
  const access: AccountCommandDeps = {
    log,
    db: pool,
    catalog,
    clock,
    correlationId: 'test',
    actor: 'tests',
  }
  const deps = (over: Partial<CloseDeps> = {}): CloseDeps => ({
    log,
    db: pool,
    clock,
    signer,
    issuerName: ISSUER,
    buildTree: (job) => buildTree(pool, job),
    crashPoint: noCrash,
    ...over,
  })
  const party = { address: ['Hauptstraße 1', '10115 Berlin'], country: 'DE' }
  await setIssuer(access, { wanted: { legalName: 'Tollgate GmbH', ...party }, basis: undefined })
  const set = async <Name extends SettingName>(
    tenantId: string,
    setting: Name,
    wanted: WantedOf<Name>,
  ): Promise<void> => {
    const named = { kind: 'set-setting', setting, tenantId } as const
    const command = { ...named, wanted, at: toTimestamp(nowMs) } as unknown as AccountCommand
    await changeAccount(access, command)
  }
  const billing = async (tenantId: string, terms: Billing = {}): Promise<void> => {
    const wanted = {
      legalName: 'Acme 上海有限公司',
      ...party,
      emails: [],
      language: 'en' as const,
      numberPrefix: 'ACME',
      timeZone: 'Asia/Shanghai',
      ...terms,
    }
    await set(tenantId, 'billing', wanted)
  }
  const settle = (): Promise<void> => caughtUp(pool, log)
  const audited = (findings = 0): Promise<void> =>
    keepLastAudit(pool, { findingsInAll: findings, position: '0' })
  await audited()
  const statementsWith = (over: Partial<CloseDeps>): Statements =>
    createStatements({ ...deps(over), logger: silentLog })
  return {
    log,
    pool,
    store,
    eventStoreUrl: store.url,
    databaseUrl: database.url,
    namespace,
    clock,
    access,
    deps,
    statementsWith,
    statements: statementsWith({}),
    billing,
    audited,
    settle,
    rebuilt: async (test) => {
      const other = await acquireGatewayDatabase()
      const db = new Pool({ connectionString: other.url, max: 16, pipeline: true })
      surviveLostConnections(db, () => undefined)
      const building = startEngine(db, log)
      test.teardown(async () => {
        await building.stop()
        await db.end()
        await other.drop()
      })
      await caughtUp(db, log)
      const build = { db, buildTree: (job: TreeJob) => buildTree(db, job) }
      return createStatements({ ...deps(build), logger: silentLog })
    },
    rename: (tenantId, name) => set(tenantId, 'name', { name }),
    setStatus: (tenantId, status) =>
      set(tenantId, 'status', { tenant: { status, reason: 'unpaid' } }),
    tenant: async (tenantId, terms) => {
      await openTenant(access, { tenantId, name: tenantId })
      await billing(tenantId, terms)
    },
    tenantWithoutBilling: async (tenantId) => {
      await openTenant(access, { tenantId, name: tenantId })
    },
    propose: async (tenantId, currency, amount) => {
      const asked = { proposesOnly: true, by: person('ann') }
      await grantCredit(access, { tenantId, currency, amount, reason: 'bought', ...asked })
    },
    grant: async (tenantId, currency, amount, credit) => {
      const reason = 'bought'
      const input = { tenantId, currency, amount, reason, credit, reference: 'INV-1' }
      return (await grantCredit(access, input)).grantId
    },
    refund: async (tenantId, currency, lineId, amount) => {
      const adjustmentId = newId('adj', nowMs)
      const { rows } = await pool.query<{ amount: string }>(
        'select trim_scale(amount)::text as amount from ledger.lines where line_id = $1',
        [lineId],
      )
      const line = { lineId, tenantId, currency, amount: rows[0]?.amount ?? '0' }
      const correction = { kind: 'line', line } as const
      const posted = { tenantId, adjustmentId, currency, amount, reason: 'broken' }
      await postAdjustment(access, { ...posted, code: 'quality', correction })
      return adjustmentId
    },
    call: async (call) => {
      const callId = newId('call', nowMs)
      await appendCall(log, callId, call)
      return (call.lines ?? [{}]).map((_, n) => `${callId}:${n + 1}`)
    },
    voidLast: async (tenantId, currency, month) => {
      const named = { currency, month, at: toTimestamp(nowMs) }
      const [ann, bob] = [person('ann'), person('bob')]
      const origins = { approver: originOf(bob), proposer: originOf(ann) }
      const commands: readonly StatementCommand[] = [
        { kind: 'propose-void', ...named, reason: 'wrong', by: ann, lapseHours: 72 },
        { kind: 'approve-void', ...named, by: bob, origins },
      ]
      for (const command of commands)
        await executeCommand({
          log,
          stream: statementStream(tenantId),
          decider: statementDecider,
          command,
          commandId: newId('cmd', nowMs),
          metadata: { correlationId: 'test', tenantId },
        })
    },
  }
}

function startEngine(pool: Pool, log: EventLog) {
  const parts = { projections: summedAtOnce, clock: systemClock, logger: silentLog }
  return startProjections({ pool, log, ...parts })
}

async function caughtUp(pool: Pool, log: EventLog): Promise<void> {
  const end = (await log.endPosition()) ?? -1n
  for (const { name } of allProjections)
    if (!(await waitForPosition(pool, name, end, 120_000)))
      throw new Error(`the ${name} read model did not catch up`)
}

/** The settlement of a call, as its replica records it. */
export function settledCall(callId: string, call: PostedCall) {
  const { tenantId, currency, atMs, lines = [{}] } = call
  const settled = lines.map(
    ({ sku = 'text-basic', unit = 'token', quantity = 1_000, price = '0.5' }) => ({
      sku,
      rule: 'chat',
      quantity,
      unit,
      price,
      per: 1_000_000 as const,
      amount: formatAmount(lineAmount(quantity, price, 1_000_000)),
      measurement: 'reported' as const,
    }),
  )
  const sumPico = settled.reduce(
    (sum, { quantity, price }) => sum + lineAmount(quantity, price, 1_000_000),
    0n,
  )
  return {
    type: 'CallSettled' as const,
    data: {
      callId,
      surface: 'v1.chat',
      tenantId,
      userId: `user_of_${tenantId}`,
      tokenId: 'token_1',
      requestId: `req_${callId}`,
      model: 'text-basic',
      channelId: 'text-cny',
      upstreamModel: 'basic',
      stream: false,
      startedAt: toTimestamp(atMs - 500),
      outcome: 'completed',
      usage: { input: 1, output: 1 },
      settlement: {
        priceBookVersion: '2026-01-01',
        currency,
        amount: formatAmount(sumPico),
        lines: settled,
      },
      settledAt: toTimestamp(atMs),
    },
  } satisfies CallEvent
}

async function appendCall(log: EventLog, callId: string, call: PostedCall): Promise<void> {
  const stream = journalStream(callId, 0)
  const event: NewEvent = {
    ...settledCall(callId, call),
    id: eventId(stream, callId, 0),
    metadata: {
      schemaVersion: currentSchemaVersion('CallSettled'),
      correlationId: callId,
      commandId: callId,
      tenantId: call.tenantId,
    },
  }
  await log.append(stream, [event], 'no_stream')
}
