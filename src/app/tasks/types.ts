import type { RequestQuote } from '../finance/prices/tenant-prices.ts'
import type { TaskFacts } from '../../domain/task/events.ts'
import type { Cost } from '../../domain/pricing/settlement.ts'
import type { Usage } from '../../domain/pricing/usage.ts'
import type { OpenedUrl } from '../../kernel/public-fetch.ts'
import type { Principal } from '../access/principal.ts'
import type { AssetsPlace, AssetsWanted } from '../assets/types.ts'

/** What the API asks of the task use cases, and what it gets back; no HTTP here. */

/** What every creation brings, of whatever family. */
export interface TaskOrder {
  readonly principal: Principal
  readonly family: string
  /** The interface the caller used, e.g. `provA.tasks`; written into the settlement. */
  readonly surface: string
  readonly requestId: string
  /** External name, aliases already normalised. */
  readonly model: string
  readonly facts: TaskFacts
  /** What the caller wants upstream to know the task by. */
  readonly callerMarker: string | undefined
  readonly executionExpiresAfterS: number | undefined
  readonly idempotencyKey: string | undefined
  /** Hash of the caller's own body, to tell a repeated request from a different one. */
  readonly bodyHash: string
  /** Only this account will do: what was uploaded for the task lies there. */
  readonly channelId?: string | undefined
}

export interface CreateTaskInput extends TaskOrder {
  /** The body for upstream without the model and the marker. */
  readonly upstreamBody: Readonly<Record<string, unknown>>
  /** Present where it uses assets, whose ids upstream are found once it is known to be no repetition. */
  readonly assets?: TaskAssets | undefined
}

/** The assets of a creation. */
export interface TaskAssets extends Pick<AssetsWanted, 'assets' | 'projectName'> {
  /** The body for upstream with its ids for them, by ours. */
  readonly bodyWith: (nativeIds: AssetsPlace['nativeIds']) => Readonly<Record<string, unknown>>
}

export interface CreatedTask {
  readonly platformId: string
  readonly nativeId: string
  /** What upstream said it counts, where it says so when it accepts a task. */
  readonly usage?: Usage | undefined
  readonly replayed: boolean
  /** Unix milliseconds. */
  readonly createdAtMs: number
}

/**
 * Domain error codes of `createTask`: `unknown_model`, `model_not_allowed`, `price_not_configured`,
 * `insufficient_balance`, `rate_limited` (details: limitedBy, limit, retryAfterMs), `no_channel`,
 * `log_unavailable`, `idempotency_key_reused`,
 * `idempotency_in_progress`, `submission_refused` (details: kind, upstreamCode, param,
 * retryAfterMs), `submission_uncertain`. Every one thrown after the id exists has
 * `details.platformId`.
 */
export type CreateTask = (input: CreateTaskInput) => Promise<CreatedTask>

type TaskStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'expired' | 'cancelled'

/** A task as its tenant may see it. */
export interface TaskView {
  readonly family: string
  readonly platformId: string
  /** Undefined while a submission is uncertain. */
  readonly nativeId: string | undefined
  readonly model: string
  readonly status: TaskStatus
  /** The caller's own settings by wire name, overridden by the actual specs once known. */
  readonly settings: Readonly<Record<string, string | number | boolean | null>>
  /** What the caller wants upstream to know it by; our own marker stays inside. */
  readonly callerMarker: string | undefined
  readonly usage: Usage | undefined
  /** What it was settled at; only a query of one task says it, and only once it is settled. */
  readonly cost?: Cost | undefined
  readonly error: { readonly code: string; readonly message: string } | undefined
  /** Fresh signed URLs by wire name (`video_url`, `last_frame_url`), if known and not expired. */
  readonly urls: Readonly<Record<string, string>> | undefined
  /** Unix milliseconds. */
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** When upstream last said how it stands; undefined before it was asked. */
  readonly observedAtMs: number | undefined
}

/** A task of the caller's tenant, by platform or native id. */
export interface TaskKey {
  readonly principal: Principal
  /** The family whose tasks the caller asks for, or several. */
  readonly family: string | readonly string[]
  readonly id: string
  readonly requestId: string
}

/**
 * By platform or native id. Refreshes a task last observed over a second ago, and re-queries
 * upstream when result URLs have expired. Code: `task_not_found` (also for another tenant's).
 */
export type GetTask = (key: TaskKey) => Promise<TaskView>

export interface ListTasksInput {
  readonly principal: Principal
  readonly family: string
  readonly pageNumber: number
  readonly pageSize: number
  readonly status: TaskStatus | undefined
  readonly model: string | undefined
  readonly ids: readonly string[] | undefined
}

export type ListTasks = (
  input: ListTasksInput,
) => Promise<{ readonly items: readonly TaskView[]; readonly total: number }>

/** Codes: `task_not_found`, `task_running`, `upstream_unavailable`, `log_unavailable`. */
export type DeleteTask = (key: TaskKey) => Promise<{ readonly platformId: string }>

/** As `DeleteTask`, and besides `task_ended` (details: status): what has ended is neither hidden nor changed. */
export type CancelTask = (key: TaskKey) => Promise<TaskView>

/** Of several families, in the order they were asked for. Code: `invalid_request` naming `after`. */
export type PageTasks = (input: {
  readonly principal: Principal
  readonly families: readonly string[]
  readonly order: 'asc' | 'desc'
  /** Platform or native id: the page begins after it. */
  readonly after: string | undefined
  readonly limit: number
}) => Promise<{ readonly items: readonly TaskView[]; readonly hasMore: boolean }>

/** A file of a result, its body to be read to the end or destroyed. */
export type OpenedResult = OpenedUrl

/**
 * Opens what one of a task's result links leads to; `linkOf` names the link. Codes: `task_not_found`,
 * `result_not_available`, `upstream_unavailable`, `overloaded`.
 */
export type OpenResult = (
  input: TaskKey & {
    readonly linkOf: (view: TaskView) => string | undefined
    /** The caller's `Range`. */
    readonly range: string | undefined
    readonly signal: AbortSignal
  },
) => Promise<OpenedResult>

/** What a task is priced by. */
export interface PricedTask extends Pick<TaskOrder, 'principal' | 'family' | 'model' | 'facts'> {
  readonly assets?: Pick<AssetsWanted, 'assets' | 'projectName'> | undefined
}

/**
 * Prices a task as its creation would, and does nothing else. Codes: those by which the creation would be
 * refused; balances, limits and whether a channel can be asked at the moment are not looked at.
 */
type QuoteTask = (order: PricedTask) => Promise<RequestQuote>

export interface TaskUseCases {
  readonly createTask: CreateTask
  readonly getTask: GetTask
  readonly listTasks: ListTasks
  readonly deleteTask: DeleteTask
  readonly cancelTask: CancelTask
  readonly pageTasks: PageTasks
  readonly openResult: OpenResult
  readonly quoteTask: QuoteTask
}
