import type { JsonObject } from '../../../src/kernel/json.ts'
import { answered } from './memory-calls.ts'
import { Readable } from 'node:stream'
import type {
  CreatedTask,
  CreateTaskInput,
  ListTasksInput,
  TaskUseCases,
  TaskView,
} from '../../../src/app/tasks/types.ts'
import { DomainError } from '../../../src/kernel/errors.ts'

interface Owned {
  readonly tenantId: string
  readonly view: TaskView
}

/** Tasks in memory: enough of the use cases to see what the routes ask and how they answer. */
export class MemoryTasks implements TaskUseCases {
  /** With the bodies for upstream, in which each asset has its id at an account. */
  readonly created: (Omit<CreateTaskInput, 'upstreamBody'> & { upstreamBody: JsonObject })[] = []
  readonly listed: ListTasksInput[] = []
  readonly asked: string[] = []
  readonly owned: Owned[] = []
  /** Thrown by the next call, once. */
  failure: unknown
  readonly quoteTask = answered
  replay = false
  #now: number
  #next = 0

  constructor(nowMs: number) {
    this.#now = nowMs
  }

  add(tenantId: string, part: Partial<TaskView> = {}): TaskView {
    this.#next += 1
    const view: TaskView = {
      family: 'video-a',
      platformId: `video_01JABCDEFGHJKMNPQRSTVWXY${String(this.#next).padStart(2, '0')}`,
      nativeId: `cgt-20260304050607-${String(this.#next).padStart(5, 'a')}`,
      model: 'overseas-video-2-0-mini',
      status: 'queued',
      settings: { duration: 5 },
      callerMarker: undefined,
      usage: undefined,
      error: undefined,
      urls: undefined,
      createdAtMs: this.#now,
      updatedAtMs: this.#now + 1_500,
      observedAtMs: undefined,
      ...part,
    }
    this.owned.unshift({ tenantId, view })
    return view
  }

  async #begin(): Promise<void> {
    await Promise.resolve()
    const { failure } = this
    this.failure = undefined
    if (failure !== undefined) throw failure
  }

  #find(tenantId: string, id: string): TaskView {
    this.asked.push(id)
    const found = this.owned.find(
      (each) =>
        each.tenantId === tenantId && (each.view.platformId === id || each.view.nativeId === id),
    )
    if (!found) throw new DomainError('task_not_found', `no task ${id}`, {})
    return found.view
  }

  createTask = async (input: CreateTaskInput): Promise<CreatedTask> => {
    await this.#begin()
    const nativeIds = (input.assets?.assets ?? []).map(
      ({ assetId }) => [assetId, `native-${assetId}`] as const,
    )
    this.created.push({ ...input, upstreamBody: input.upstreamBody(new Map(nativeIds)) })
    const { family, model } = input
    const view = this.add(input.principal.tenantId, { family, model })
    return {
      platformId: view.platformId,
      nativeId: view.nativeId ?? '',
      replayed: this.replay,
      createdAtMs: view.createdAtMs,
    }
  }

  getTask: TaskUseCases['getTask'] = async ({ principal, id }) => {
    await this.#begin()
    return this.#find(principal.tenantId, id)
  }

  listTasks: TaskUseCases['listTasks'] = async (input) => {
    await this.#begin()
    this.listed.push(input)
    const ids = input.ids
    const found = this.owned
      .filter((each) => each.tenantId === input.principal.tenantId)
      .map((each) => each.view)
      .filter((view) => input.status === undefined || view.status === input.status)
      .filter((view) => input.model === undefined || view.model === input.model)
      .filter(
        (view) =>
          ids === undefined || ids.includes(view.platformId) || ids.includes(view.nativeId ?? ''),
      )
    const start = (input.pageNumber - 1) * input.pageSize
    return { items: found.slice(start, start + input.pageSize), total: found.length }
  }

  deleteTask: TaskUseCases['deleteTask'] = async ({ principal, id }) => {
    await this.#begin()
    const view = this.#find(principal.tenantId, id)
    if (view.status === 'running') throw new DomainError('task_running', 'running', {})
    return { platformId: view.platformId }
  }

  cancelTask: TaskUseCases['cancelTask'] = async ({ principal, id }) => {
    await this.#begin()
    const view = this.#find(principal.tenantId, id)
    if (view.status === 'running') throw new DomainError('task_running', 'running', {})
    if (view.status !== 'queued')
      throw new DomainError('task_ended', 'ended', { status: view.status })
    return { ...view, status: 'cancelled' }
  }

  pageTasks: TaskUseCases['pageTasks'] = async ({ principal, limit }) => {
    await this.#begin()
    const found = this.owned.filter((each) => each.tenantId === principal.tenantId)
    return { items: found.slice(0, limit).map((each) => each.view), hasMore: found.length > limit }
  }

  openResult: TaskUseCases['openResult'] = async ({ principal, id }) => {
    await this.#begin()
    this.#find(principal.tenantId, id)
    return { status: 200, headers: { 'content-type': 'video/mp4' }, body: Readable.from(['mp4']) }
  }
}
