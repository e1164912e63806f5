import type { Test } from 'tap'
import type { Pool } from 'pg'
import { eventually } from '../../../helpers/eventually.ts'
import { waitForPosition } from '../../../../projections/engine/wait.ts'
import type { Engine } from '../../../../projections/engine/engine.ts'
import { allProjections } from '../../../../projections/registry.ts'
import { audit, type AuditOptions, type AuditReport } from '../../../../src/app/audit/audit.ts'
import { type AuditState, parseState } from '../../../../src/app/audit/state.ts'
import { type AccountEvent, accountStream } from '../../../../src/domain/account/events.ts'
import { fileStream } from '../../../../src/domain/file/events.ts'
import { uploadStream } from '../../../../src/domain/upload/events.ts'
import { voiceStream } from '../../../../src/domain/voice/events.ts'
import type { PriceEntry } from '../../../../src/domain/pricing/events.ts'
import { priceBookStream } from '../../../../src/domain/pricing/events.ts'
import {
  type PeriodClosed,
  type StatementEvent,
  statementStream,
} from '../../../../src/domain/statement/events.ts'
import type { EventLog, NewEvent, RecordedEvent } from '../../../../src/eventlog/log/types.ts'
import { eventId } from '../../../../src/kernel/ids.ts'
import { testEventLog } from '../../../helpers/eventstore.ts'
import {
  caughtUp as reached,
  startEngine,
  testPool,
} from '../../../projections/support/database.ts'
import {
  lives,
  openTenant,
  overlappingTasks,
  Recorder,
  recordCall,
  SKU,
  START_MS,
  type Life,
} from '../../../projections/support/history.ts'
import { libraryHistory } from '../../../projections/support/library.ts'
import { ScriptedLog } from '../../../projections/support/memory-log.ts'
import { summedAtOnce } from '../../../projections/support/summed.ts'
import { closeOf, recordParties } from './closes.ts'

const CAUGHT_UP_MS = 120_000
const LIFE_NAMES = Object.keys(lives) as Life[]

const token = { unit: 'token', per: 1_000_000 } as const
const entries: PriceEntry[] = [
  { ...token, sku: SKU, currency: 'CNY', price: '70' },
  { ...token, sku: 'domestic-video-2-5-video', currency: 'CNY', price: '42' },
  { ...token, sku: 'gpt-x-input-token', currency: 'USD', price: '4.3' },
  { ...token, sku: 'gpt-x-output-token', currency: 'USD', price: '12' },
]

/** The price book that the support's tasks and calls are settled by. */
export function publishBook(recorder: Recorder): RecordedEvent {
  return recorder.record(priceBookStream, {
    type: 'PriceBookPublished',
    data: {
      version: '2026-03-01',
      effectiveFrom: new Date(START_MS).toISOString(),
      publishedAt: new Date(START_MS).toISOString(),
      digest: 'd-1',
      entries,
    },
  })
}

/** An end to the second of its kind: those of before there was one have none. */
const lasting = (n: number): { readonly expiresAt?: string } =>
  n === 1 ? { expiresAt: new Date(START_MS + 86_400_000).toISOString() } : {}

/** Files of a tenant, the first of them deleted. */
function recordFiles(recorder: Recorder, tenantId: string): readonly RecordedEvent[] {
  const at = new Date(START_MS).toISOString()
  const owner = { tenantId, userId: 'user_0', tokenId: `tok_${tenantId}` }
  const uploaded = [0, 1, 2].map((n) => {
    const fileId = `file-${n}`
    const facts = { purpose: 'vision' as const, filename: `${n}.png`, sizeBytes: 1_000 + n }
    const data = { fileId, ...owner, ...facts, uploadedAt: at, ...lasting(n) }
    return recorder.record(fileStream(fileId), { type: 'FileUploaded', data })
  })
  const deletion = { fileId: 'file-0', ...owner, deletedAt: at }
  const deleted = recorder.record(fileStream('file-0'), { type: 'FileDeleted', data: deletion })
  return [...uploaded, deleted]
}

/** Uploads that a provider keeps, and a voice made of the first, twice: upstream had let go of it. */
function recordVoices(recorder: Recorder, tenantId: string): readonly RecordedEvent[] {
  const at = (n: number): string => new Date(START_MS + n * 1_000).toISOString()
  const owner = { tenantId, userId: 'user_0', tokenId: `tok_${tenantId}` }
  const place = { channelId: 'speech-1' }
  const uploaded = [0, 1].map((n) => {
    const fileId = `450359962737049${n}`
    const upstreamFileId = `922337203685477580${n}`
    const facts = { purpose: 'voice_clone' as const, filename: `${n}.wav`, sizeBytes: 1_000 + n }
    const times = { uploadedAt: at(n), ...lasting(n) }
    const data = { fileId, ...owner, ...place, upstreamFileId, ...facts, ...times }
    return recorder.record(uploadStream(fileId), { type: 'MediaUploaded', data })
  })
  const cloned = [2, 3].map((n) => {
    const voice = { voiceId: 'MyVoice_001', sourceFileId: '4503599627370490' }
    const data = {
      ...voice,
      ...owner,
      ...place,
      requestId: `req_voice_${n}`,
      upstreamVoiceId: 'v01',
    }
    return recorder.record(voiceStream(data), {
      type: 'VoiceCloned',
      data: { ...data, clonedAt: at(n) },
    })
  })
  return [...uploaded, ...cloned]
}

/** Proposals of a tenant: one that waits, one by a shell that was approved, one that was rejected. */
function recordProposals(recorder: Recorder, tenantId: string): readonly RecordedEvent[] {
  const at = (n: number): string => new Date(START_MS + n * 1_000).toISOString()
  const by = { tenantId, userId: 'user_0', tokenId: `tok_${tenantId}` }
  const record = (event: AccountEvent) => recorder.record(accountStream(tenantId), event)
  const proposed = [1, 2, 3].map((n) => {
    const terms = { grantId: `proposed_${n}`, currency: 'CNY', amount: `${n}.5` } as const
    const posting = { kind: 'grant', ...terms, reason: 'r' } as const
    const times = { proposedAt: at(n), expiresAt: at(n + 3_600) }
    const data = { tenantId, proposalId: `proposal_${n}`, posting, ...times }
    return record({ type: 'PostingProposed', data: n === 2 ? data : { ...data, by } })
  })
  const ended = (n: number) => ({ tenantId, proposalId: `proposal_${n}`, by })
  return [
    ...proposed,
    record({ type: 'PostingApproved', data: { ...ended(2), approvedAt: at(10) } }),
    record({ type: 'PostingRejected', data: { ...ended(3), reason: 'no', rejectedAt: at(11) } }),
  ]
}

/**
 * Closes of a tenant: of two months, the second voided and closed again; a proposal was rejected. Nothing is posted in
 * them, so that they are right wherever a log places the events.
 */
function recordCloses(recorder: Recorder, tenantId: string): readonly RecordedEvent[] {
  const at = (n: number): string => new Date(START_MS + n * 1_000).toISOString()
  const by = { tenantId, userId: 'user_0', tokenId: `tok_${tenantId}` }
  const record = (event: StatementEvent) => recorder.record(statementStream(tenantId), event)
  const close = (n: number, attempt: number, count: number, last?: PeriodClosed): PeriodClosed => {
    const names = { tenantId, currency: 'CNY', n, attempt, statement: `ACME-000${count}` } as const
    const times = { from: `2025-0${n}-01T00:00:00+08:00`, to: `2025-0${n + 1}-01T00:00:00+08:00` }
    const more = { month: `2025-0${n}`, ...times, position: 0n, closedAt: at(n) }
    return closeOf({ ...names, ...more }, last, [])
  }
  const nameOf = ({ currency, n, attempt, statement }: PeriodClosed) => {
    return { tenantId, currency, n, attempt, statement }
  }
  const first = close(1, 1, 1)
  const [second, again] = [close(2, 1, 2, first), close(2, 2, 3, first)]
  const asked = { reason: 'wrong', proposedAt: at(3), expiresAt: at(3_600) }
  const rejected = { reason: 'it is right', rejectedAt: at(4) }
  const voided = { reason: 'wrong', by, voidedAt: at(5) }
  return [
    ...recordParties(recorder, tenantId),
    record({ type: 'PeriodClosed', data: first }),
    record({ type: 'VoidProposed', data: { ...nameOf(first), ...asked, by } }),
    record({ type: 'VoidRejected', data: { ...nameOf(first), ...rejected } }),
    record({ type: 'PeriodClosed', data: second }),
    record({ type: 'VoidProposed', data: { ...nameOf(second), ...asked } }),
    record({ type: 'PeriodVoided', data: { ...nameOf(second), ...voided } }),
    record({ type: 'PeriodClosed', data: again }),
  ]
}

/** A little of everything, of three tenants. */
export function history(recorder: Recorder, tasks = 60, calls = 12): RecordedEvent[] {
  const rotated = `tok_tenant_1`
  const at = (offsetMs: number): string => new Date(START_MS + offsetMs).toISOString()
  const stream = `token-${rotated}`
  return [
    publishBook(recorder),
    ...openTenant(recorder, 'tenant_0'),
    ...openTenant(recorder, 'tenant_1'),
    ...recordProposals(recorder, 'tenant_1'),
    ...recordCloses(recorder, 'tenant_1'),
    recorder.record(stream, {
      type: 'TokenRotated',
      data: {
        tokenId: rotated,
        secretHash: 'hash_second',
        lastFour: 'efgh',
        oldValidUntil: at(3_600_000),
        rotatedAt: at(1_000),
      },
    }),
    recorder.record(stream, {
      type: 'TokenLimitsChanged',
      data: { tokenId: rotated, limits: { requestsPerMinute: 5 }, changedAt: at(2_000) },
    }),
    recorder.record(stream, {
      type: 'TokenUpdated',
      data: {
        tokenId: rotated,
        name: 'renamed',
        models: ['text-basic'],
        addresses: ['203.0.113.0/24'],
        expiresAt: at(9_000_000),
        updatedAt: at(2_500),
      },
    }),
    ...recordFiles(recorder, 'tenant_1'),
    ...recordVoices(recorder, 'tenant_1'),
    ...libraryHistory(recorder),
    ...overlappingTasks(recorder, {
      tasks,
      width: 13,
      shape: (n) => ({ tenantId: `tenant_${n % 3}`, model: `model-${n % 4}` }),
      life: (n) => LIFE_NAMES[(n * 7) % LIFE_NAMES.length] ?? 'settled',
    }),
    ...Array.from({ length: calls }, (_, n) => recordCall(recorder, n, `tenant_${n % 2}`)),
  ]
}

/** Appends recorded events to a real log, which gives them places of its own. */
export async function append(log: EventLog, events: readonly RecordedEvent[]): Promise<void> {
  for (const { stream, revision, id: _, position: __, recordedAt: ___, ...rest } of events) {
    const event = { ...rest, id: eventId(stream, 'test', Number(revision)) } as NewEvent
    await log.append(stream, [event], revision === 0n ? 'no_stream' : revision - 1n)
  }
}

/** Read models that follow a real log. */
export interface Audited {
  readonly pool: Pool
  readonly log: EventLog
  readonly recorder: Recorder
  readonly engine: Engine
  readonly caughtUp: () => Promise<void>
  readonly audit: (options?: Partial<AuditOptions>) => Promise<AuditReport>
}

/** Starts them with a history they have taken in. */
export async function startAudited(
  t: Test,
  begin: (recorder: Recorder) => readonly RecordedEvent[] = history,
): Promise<Audited> {
  const { log, close } = await testEventLog()
  t.teardown(close)
  const pool = await testPool(t, 20)
  const recorder = new Recorder()
  await append(log, begin(recorder))
  const engine = startEngine(t, { pool, log, projections: summedAtOnce })
  const caughtUp = async (): Promise<void> => {
    const end = await log.endPosition()
    for (const { name } of allProjections)
      if (end !== undefined && !(await waitForPosition(pool, name, end, CAUGHT_UP_MS)))
        throw new Error(`${name} does not come to ${end}`)
  }
  await caughtUp()
  await eventually('the indexes exist', async () => {
    const { rowCount } = await pool.query('select from engine.checkpoints where not indexed')
    return rowCount === 0
  })
  const run = (options: Partial<AuditOptions> = {}): Promise<AuditReport> =>
    audit({ pool, log, models: allProjections, ...options })
  return { pool, log, recorder, engine, caughtUp, audit: run }
}

/** Audits, and returns besides the report the state from which a later audit goes on. */
export async function kept(
  run: Pick<Audited, 'audit'>,
  resume?: AuditState,
): Promise<{ readonly report: AuditReport; readonly state: AuditState | undefined }> {
  let state: AuditState | undefined
  const onState = async (next: AuditState): Promise<void> => {
    // As it comes back from a file.
    state = parseState(JSON.stringify(next))
    await Promise.resolve()
  }
  const report = await run.audit({ onState, resume })
  return { report, state }
}

/** Read models of events at hand, taken in; nothing follows them any more. */
export async function takenIn(
  t: Test,
  events: readonly RecordedEvent[],
  projections = summedAtOnce,
): Promise<{ readonly pool: Pool; readonly log: ScriptedLog }> {
  const pool = await testPool(t, 20)
  const log = new ScriptedLog(events)
  const engine = startEngine(t, { pool, log, projections })
  await reached(pool, log, projections)
  await eventually('the indexes exist', async () => {
    const { rowCount } = await pool.query('select from engine.checkpoints where not indexed')
    return rowCount === 0
  })
  await engine.stop()
  return { pool, log }
}

/** The schemas of the read models; each has the name of its read model. */
const schemas = allProjections.map(({ name }) => `'${name}'`).join(', ')

/**
 * Returns a function that changes rows by hand, audits, and puts every table of every read model back.
 * Nothing may follow the log meanwhile, nor may it grow: it is read once, since most of an audit is to ask for its
 * streams.
 */
export async function tampering(
  t: Test,
  { pool, log, audit }: Audited,
): Promise<(sql: string) => Promise<AuditReport>> {
  const kept = new ScriptedLog()
  for await (const event of log.readAll()) kept.push(event)
  const { rows: tables } = await pool.query<{ name: string; copy: string }>(
    `select format('%I.%I', schemaname, tablename) as name,
            format('public.kept_%s_%s', schemaname, tablename) as copy
     from pg_tables where schemaname in (${schemas}) order by 1`,
  )
  for (const { name, copy } of tables) await pool.query(`create table ${copy} as table ${name}`)
  t.teardown(async () => {
    for (const { copy } of tables) await pool.query(`drop table ${copy}`)
  })
  return async (sql) => {
    await pool.query(sql)
    try {
      return await audit({ log: kept })
    } finally {
      await pool.query(`truncate ${tables.map(({ name }) => name).join(', ')}`)
      // Versions before their entries, which refer to them.
      for (const { name, copy } of tables)
        await pool.query(`insert into ${name} select * from ${copy}`)
    }
  }
}
