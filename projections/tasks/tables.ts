import type { Usage } from '../../src/domain/pricing/usage.ts'
import {
  bigint,
  bool,
  constrained,
  int,
  json,
  nullable,
  operational,
  reader,
  smallint,
  text,
  unixMs,
  type StoredRow,
} from '../engine/column.ts'
import { table } from '../engine/table.ts'
import type { PollKind, Submission, TaskStatus } from './fold.ts'

/** Number of sequence numbers in a bucket of each level, as a shift; level 0 covers all. */
export const COARSE_SHIFT = 15
export const FINE_SHIFT = 10

type Scalars = Readonly<Record<string, string | number | boolean | null>>

/** The list of a tenant's tasks of one family, numbered without gaps from 0. */
export const scopes = table('tasks.scopes', {
  columns: { scope_id: int(), tenant_id: text(), family: text(), next_seq: bigint() },
  key: ['scope_id'],
  constraints: ['unique (tenant_id, family)'],
  storage: 'fillfactor = 70',
  onConflict: { next_seq: 'replace' },
})

/** Open tasks whose result the provider has made without saying what was used. */
export const awaitsUsageSql = `awaiting_usage_at_ms is not null and status in ('queued', 'running')`

export const tasks = table('tasks.tasks', {
  columns: {
    platform_id: text(),
    scope_id: int(),
    seq: bigint(),
    tenant_id: text(),
    user_id: text(),
    token_id: text(),
    family: text(),
    surface: text(),
    request_id: text(),
    model: text(),
    channel_id: text(),
    /** The region of the model; null if the family's models belong to no region. */
    region: nullable(text<'domestic' | 'overseas'>()),
    /** Null while the submission has no known outcome. */
    native_id: nullable(text()),
    submission: text<Submission>(),
    status: text<TaskStatus>(),
    /** Deleted by its tenant. */
    hidden: bool(),
    settled: bool(),
    /** True if the task is neither hidden nor refused: only then lists and counts include it. */
    visible: bool(),
    /** The caller's own settings by wire name. */
    settings: json<Scalars>(),
    /** Actual specs by wire name, once succeeded. */
    output: nullable(json<Scalars>()),
    usage: nullable(json<Usage>()),
    error: nullable(json<{ readonly code: string; readonly message: string }>()),
    marker: text(),
    marker_is_ours: bool(),
    requested_at_ms: unixMs(),
    updated_at_ms: unixMs(),
    /** Time at which upstream was last asked, by event or by poll; null before. */
    observed_at_ms: nullable(unixMs()),
    /**
     * Time at which the provider last said that it has made the result, without a usage that can be
     * believed; null where it never said so.
     */
    awaiting_usage_at_ms: nullable(unixMs()),
    expires_at_ms: unixMs(),
    revision: bigint(),
    position: bigint(),
  },
  key: ['platform_id'],
  storage: 'fillfactor = 80',
  indexes: {
    native: '(native_id) where native_id is not null',
    open: `(token_id) where status in ('queued', 'running')`,
    open_owner: `(tenant_id, user_id) where status in ('queued', 'running')`,
    awaiting_usage: `(expires_at_ms) where ${awaitsUsageSql}`,
    all: '(scope_id, seq) where visible',
    requested: '(scope_id, requested_at_ms, platform_id) where visible',
    status: '(scope_id, status, seq) where visible',
    model: '(scope_id, model, seq) where visible',
    status_model: '(scope_id, status, model, seq) where visible',
  },
})

/**
 * Visible tasks per scope, status and model: in all (level 0), per 32,768 (level 1) and per
 * 1,024 (level 2) sequence numbers. A page at any depth is found by summing few rows.
 */
export const taskCounts = table('tasks.counts', {
  columns: {
    scope_id: int(),
    level: smallint(),
    bucket: int(),
    status: text(),
    model: text(),
    n: bigint(),
  },
  key: ['scope_id', 'level', 'bucket', 'status', 'model'],
  storage: 'fillfactor = 60',
  onConflict: { n: 'add' },
  compared: 'n <> 0',
})

/**
 * Tasks that need asking upstream. When and by which worker is operational; a watch is ended by a
 * policy, so no rebuild compares those.
 */
export const polls = table('tasks.polls', {
  columns: {
    platform_id: text(),
    tenant_id: text(),
    family: text(),
    channel_id: text(),
    native_id: nullable(text()),
    kind: text<PollKind>(),
    requested_at_ms: unixMs(),
    expires_at_ms: unixMs(),
    due_at_ms: operational(unixMs()),
    attempts: operational(constrained(int(), 'default 0')),
    lease_owner: operational(nullable(text())),
    observed_at_ms: operational(nullable(unixMs())),
    /** Start of the first complete list that certainly had to show it and did not. */
    absent_at_ms: operational(nullable(unixMs())),
  },
  key: ['platform_id'],
  storage: 'fillfactor = 60',
  earlyIndexes: { due: '(kind, due_at_ms)' },
  compared: `kind <> 'watch'`,
})

const { scope_id: _scope, seq: _seq, visible: _visible, ...shown } = tasks.record.columns

/** A task as the read model knows it. */
export type TaskRow = StoredRow<typeof shown>

/** Reads a row of `taskColumns`. */
export const toTaskRow = reader(shown, null)

/** Columns of a task `t`, for lists. */
export const listColumns = Object.keys(shown)
  .map((name) => `t.${name}`)
  .join(', ')

/** The columns of lists, with the time of the latest observation from the poll `p`. */
export const taskColumns = listColumns.replace(
  't.observed_at_ms',
  'greatest(t.observed_at_ms, p.observed_at_ms) as observed_at_ms',
)
