import { createHash } from 'node:crypto'
import type { FamilyKit } from '../family.ts'
import { parseMarkers, type PromptMarkers } from '../faults/marker.ts'
import { isOn, type Faults } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import { randomBase36 } from '../kit/random.ts'
import type { StoredTask } from '../tasks/store.ts'
import type { TaskState } from '../tasks/timeline.ts'
import { taskBody, type Site } from './body.ts'
import { newRequestId, Refusal } from '../http/dotted-errors.ts'
import { listTasks } from './list.ts'
import { parseRequest, type Fields } from './parse.ts'
import { detailOf, planOf, usageOf } from './plan.ts'

/** The family's name in records, counters and fault rules. */
export const FAMILY = 'video-a'

const MAX_ID_TRIES = 1000

/** The four operations of this wire; each throws Refusal for what it refuses. */
export class VideoService {
  readonly #kit: FamilyKit

  constructor(kit: FamilyKit) {
    this.#kit = kit
  }

  /** Accepts a task: answered only once it is durable. */
  async create(body: Fields, credential: string, faults: Faults): Promise<Answer> {
    const { options, random, clock, store, callbacks } = this.#kit
    const request = parseRequest(body, options)
    const nowMs = clock.nowMs()
    const detail = detailOf(request, random, newRequestId(random, nowMs))
    const record = await store.accept({
      id: this.#newId(nowMs),
      family: FAMILY,
      acceptedAtMs: nowMs,
      model: request.model,
      requestedModel: request.requestedModel,
      safetyIdentifier: request.safetyIdentifier,
      clientMarker: parseMarkers(request.content.prompt).clientMarker,
      credential: createHash('sha256').update(credential).digest('hex').slice(0, 12),
      plan: planOf(request, faults, options),
      ...usageOf(request, detail, faults),
      detail: { ...detail },
    })
    const task = store.get(record.id)
    if (task !== null) callbacks.watch(task)
    return this.#ok({ id: record.id })
  }

  get(id: string): Answer {
    const [task, state] = this.#find(id)
    const body = taskBody(task, state, this.#site())
    this.#told(task, state)
    return this.#ok(body)
  }

  list(query: URLSearchParams, faults: Faults): Answer {
    const page = listTasks(this.#kit, FAMILY, query, faults)
    const site = this.#site()
    const items = page.items.map(([task, state]) => {
      const body = taskBody(task, state, site)
      this.#told(task, state)
      return isOn(faults, 'unmarked') ? { ...body, safety_identifier: undefined } : body
    })
    return this.#ok({ items, total: page.total })
  }

  /** Cancels what is queued, deletes what has ended, refuses the rest. */
  async remove(id: string): Promise<Answer> {
    const { store, clock } = this.#kit
    const [, state] = this.#find(id)
    const nowMs = clock.nowMs()
    if (state.phase === 'running') {
      const why = `Cannot delete task \`${id}\` because it is currently running.`
      throw new Refusal('InvalidAction.RunningTaskDeletion', why)
    }
    if (state.phase === 'cancelled') {
      const why = `Deleting the cancelled task \`${id}\` is not supported.`
      throw new Refusal('InvalidParameter.TaskStatus', why)
    }
    const queued = state.phase === 'queued'
    await store.mark(id, queued ? { cancelledAtMs: nowMs } : { deletedAtMs: nowMs })
    return this.#ok({})
  }

  /** Where result URLs point. */
  #site(): Site {
    return { baseUrl: this.#kit.baseUrl(), urlSeconds: this.#kit.options.urlSeconds }
  }

  #find(id: string): readonly [StoredTask, TaskState] {
    const task = this.#kit.store.get(id)
    if (task !== null && task.record.family === FAMILY) {
      const state = this.#kit.store.stateOf(task, this.#kit.clock.nowMs())
      if (state.visible) return [task, state]
    }
    throw new Refusal('NotFound.Task', `The task \`${id.slice(0, 100)}\` is not found.`)
  }

  #told(task: StoredTask, state: TaskState): void {
    const success = state.phase === 'succeeded'
    this.#kit.store.queried(task.record.id, success, this.#kit.clock.nowMs())
  }

  #newId(nowMs: number): string {
    const stamp = new Date(nowMs).toISOString().slice(0, 19).replace(/[-:T]/g, '')
    for (let i = 0; i < MAX_ID_TRIES; i += 1) {
      const id = `cgt-${stamp}-${randomBase36(this.#kit.random, 5)}`
      if (this.#kit.store.reserve(id)) return id
    }
    throw new Error('no free task id')
  }

  #ok(body: object): Answer {
    const requestId = newRequestId(this.#kit.random, this.#kit.clock.nowMs())
    return { status: 200, body, headers: { 'x-request-id': requestId } }
  }
}

/** The prompt's markers, as far as a body can be read at all. @throws UnknownSwitch */
export function markersOf(body: Fields): PromptMarkers {
  const items: readonly unknown[] = Array.isArray(body['content']) ? body['content'] : []
  const texts = items.map((item) => {
    const text = typeof item === 'object' && item !== null && 'text' in item ? item.text : ''
    return typeof text === 'string' ? text : ''
  })
  return parseMarkers(texts.join('\n'))
}
