import type { RequestQuote } from '../finance/prices/tenant-prices.ts'
import type { UpstreamBody } from '../../domain/catalog/checks/media.ts'
import type { TaskFacts } from '../../domain/task/events.ts'
import type { Cost } from '../../domain/pricing/settlement.ts'
import type { Usage } from '../../domain/pricing/usage.ts'
import type { RepeatFacts } from '../../domain/repeat-facts.ts'
import type { NamedLabels } from '../../domain/reporting-labels.ts'
import type { OpenedUrl } from '../../kernel/public-fetch.ts'
import type { Principal } from '../access/principal.ts'
import type { AssetsWanted } from '../assets/types.ts'

/** The fields of every creation, of any family. */
export interface TaskOrder {
  readonly principal: Principal
  readonly family: string
  /** The interface the caller used, e.g. `provA.tasks`; written into the settlement. */
  readonly surface: string
  readonly requestId: string
  /** External name, aliases already normalised. */
  readonly model: string
  readonly facts: TaskFacts
  /** The marker that the caller sends upstream. */
  readonly callerMarker?: string | undefined
  readonly executionExpiresAfterS?: number | undefined
  /** Who or what it is for, as the request names it. */
  readonly labels?: NamedLabels
  /** Whether it was sent before, as far as the request shows. */
  readonly repeat?: RepeatFacts
  /** Set when it uses assets; a retry does not look up their upstream ids. */
  readonly assets?: TaskAssets | undefined
  /** The body names a URL that the provider calls. */
  readonly hasCallback?: boolean
  readonly idempotencyKey: string | undefined
  /** Hash of the caller's own body, to distinguish a retry from a different request. */
  readonly bodyHash: string
  /** Only this account can run it, because it has the uploads of the task. */
  readonly channelId?: string | undefined
}

export interface CreateTaskInput extends TaskOrder {
  readonly upstreamBody: UpstreamBody
}

/** The assets of a creation. */
export type TaskAssets = Pick<AssetsWanted, 'assets' | 'projectName'>

export interface CreatedTask {
  readonly platformId: string
  readonly nativeId: string
  /** The usage that upstream reports, if it does so when it accepts a task. */
  readonly usage?: Usage | undefined
  readonly replayed: boolean
  /** Unix milliseconds. */
  readonly createdAtMs: number
}

/**
 * Domain error codes of `createTask`: `unknown_model`, `model_not_allowed`, `price_not_configured`,
 * `insufficient_balance`, `rate_limited` (details: limitedBy, limit, retryAfterMs), `no_channel`,
 * `log_unavailable`, `log_outcome_unknown`, `database_unavailable`, `read_model_behind`,
 * `overloaded`, `budget_reached`, `idempotency_key_reused`, `idempotency_in_progress`,
 * `submission_refused` (details: kind, upstreamCode, param, retryAfterMs), `submission_uncertain`,
 * and those of assets. One that may have written or sent anything has `details.platformId`.
 */
export type CreateTask = (input: CreateTaskInput) => Promise<CreatedTask>

type TaskStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'expired' | 'cancelled'

/** A task for its tenant. */
export interface TaskView {
  readonly family: string
  readonly platformId: string
  /** Undefined while a submission is uncertain. */
  readonly nativeId: string | undefined
  readonly model: string
  readonly status: TaskStatus
  /** The caller's own settings by wire name, overridden by the actual specs once known. */
  readonly settings: Readonly<Record<string, string | number | boolean | null>>
  /** The caller's marker; the gateway's own is not shown. */
  readonly callerMarker: string | undefined
  readonly usage: Usage | undefined
  /** The settled amount; only a query of one task returns it, and only after settlement. */
  readonly cost?: Cost | undefined
  readonly error: { readonly code: string; readonly message: string } | undefined
  /** Fresh signed URLs by wire name (`video_url`, `last_frame_url`), if known and not expired. */
  readonly urls: Readonly<Record<string, string>> | undefined
  /** Unix milliseconds. */
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** Time at which upstream last reported its state; undefined before the first query. */
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
 * Finds a task by platform or native id. Refreshes a task last observed over a second ago, and
 * re-queries upstream when result URLs have expired. Code: `task_not_found` (also for another
 * tenant's).
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

/** As `DeleteTask`, and `task_ended` (details: status): an ended task does not change. */
export type CancelTask = (key: TaskKey) => Promise<TaskView>

/** A page of the tasks of several families, in the given order. Code: `invalid_request` naming `after`. */
export type PageTasks = (input: {
  readonly principal: Principal
  readonly families: readonly string[]
  readonly order: 'asc' | 'desc'
  /** Platform or native id: the page begins after it. */
  readonly after: string | undefined
  readonly limit: number
}) => Promise<{ readonly items: readonly TaskView[]; readonly hasMore: boolean }>

/** A file of a result; the caller must read its body to the end or destroy it. */
export type OpenedResult = OpenedUrl

/**
 * Opens the file behind one of a task's result links; `linkOf` names the link. Codes:
 * `task_not_found`, `result_not_available`, `upstream_unavailable`, `overloaded`.
 */
export type OpenResult = (
  input: TaskKey & {
    readonly linkOf: (view: TaskView) => string | undefined
    /** The caller's `Range`. */
    readonly range: string | undefined
    readonly signal: AbortSignal
  },
) => Promise<OpenedResult>

/** The facts that price a task. */
export interface PricedTask extends Pick<TaskOrder, 'principal' | 'family' | 'model' | 'facts'> {
  readonly assets?: TaskAssets | undefined
}

/**
 * Prices a task as its creation would, without creating it. Codes: those of a refused creation; it
 * does not check balances, limits or whether a channel is available.
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
