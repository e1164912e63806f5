import { credentialHash } from '../calls/credential-hash.ts'
import type { FamilyKit } from '../family.ts'
import { parseMarkers, type PromptMarkers } from '../faults/marker.ts'
import { isOn, type Faults } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import { randomInteger, type Random } from '../kit/random.ts'
import type { StoredTask } from '../tasks/store.ts'
import type { TaskState } from '../tasks/timeline.ts'
import { settingsBody, stateOf, taskBody, type Site } from './body.ts'
import { Refusal } from './errors.ts'
import { listTasks } from './list.ts'
import { parseRequest, type Fields, type Mode } from './parse.ts'
import { detailOf, planOf, usageOf, type VideoDetail } from './plan.ts'

/** The family's name in records, counters and fault rules. */
export const FAMILY = 'video-c'

const MAX_ID_TRIES = 1_000
/** What every account begins with. */
const CREDITS = 1_000_000_000

/** The operations of this wire; each throws Refusal for what it refuses. */
export class VideoService {
  readonly #kit: FamilyKit

  constructor(kit: FamilyKit) {
    this.#kit = kit
  }

  /** Accepts a task: answered only once it is durable. */
  async create(mode: Mode, body: Fields, credential: string, faults: Faults): Promise<Answer> {
    const { options, random, clock, store, callbacks } = this.#kit
    const request = parseRequest(mode, body)
    const detail = detailOf(request, faults, random, digits(random))
    const record = await store.accept({
      id: this.#newId(),
      family: FAMILY,
      acceptedAtMs: clock.nowMs(),
      model: request.model,
      requestedModel: request.model,
      // Where other wires have a field of its own for it.
      safetyIdentifier: request.payload === '' ? null : request.payload,
      clientMarker: parseMarkers(request.prompt).clientMarker,
      credential: credentialHash(credential),
      plan: planOf(request, faults, options),
      ...usageOf(detail, faults),
      detail: { ...detail },
    })
    const task = store.get(record.id)
    if (task !== null) callbacks.watch(task)
    return ok({
      task_id: record.id,
      state: 'created',
      ...settingsBody(record),
      prompt: request.prompt,
      images: [],
      payload: request.payload,
      bgm: request.bgm,
      off_peak: request.offPeak,
      credits: detail.credits,
    })
  }

  get(id: string): Answer {
    const [task, state] = this.#find(id)
    const body = taskBody(task, state, this.#site(), this.#kit.clock.nowMs())
    this.#told(task, state)
    return ok(body)
  }

  list(query: URLSearchParams, faults: Faults): Answer {
    const { items, hasMore } = listTasks(this.#kit, FAMILY, query, faults)
    const nowMs = this.#kit.clock.nowMs()
    const tasks = items.map(([task, state]) => {
      const body = { ...taskBody(task, state, this.#site(), nowMs), ...settingsBody(task.record) }
      this.#told(task, state)
      return {
        ...body,
        ...(isOn(faults, 'unmarked') ? { payload: '' } : {}),
        ...(isOn(faults, 'usage-missing') ? { credits: undefined } : {}),
      }
    })
    return ok({ tasks, next_page_token: hasMore ? 'more' : '' })
  }

  /** Cancels what waits; its credits come back. */
  async cancel(id: string, body: Fields): Promise<Answer> {
    if (body['id'] !== id) throw new Refusal('FieldLacking', 'field id is lacking')
    const { store, clock } = this.#kit
    const [task, state] = this.#find(id)
    const nowMs = clock.nowMs()
    if (state.phase !== 'queued') {
      const word = state.phase === 'running' ? 'scheduled' : stateOf(task, state, nowMs)
      throw new Refusal('BadRequest', `task state is ${word}, can not cancel`)
    }
    await store.mark(id, { cancelledAtMs: nowMs })
    return ok({})
  }

  /** What an account has left. */
  credits(credential: string): Answer {
    const { store, clock } = this.#kit
    const account = credentialHash(credential)
    const nowMs = clock.nowMs()
    const taken = store
      .all()
      .filter(({ record }) => record.family === FAMILY && record.credential === account)
      .filter((task) =>
        ['queued', 'running', 'succeeded'].includes(store.stateOf(task, nowMs).phase),
      )
      .reduce((sum, { record }) => sum + (record.detail as unknown as VideoDetail).credits, 0)
    return ok({ remains: [{ type: 'metered', credit_remain: CREDITS - taken }], packages: [] })
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
    throw new Refusal('TaskNotFound')
  }

  #told(task: StoredTask, state: TaskState): void {
    const success = state.phase === 'succeeded'
    this.#kit.store.queried(task.record.id, success, this.#kit.clock.nowMs())
  }

  #newId(): string {
    const { random, store } = this.#kit
    for (let i = 0; i < MAX_ID_TRIES; i += 1) {
      const id = digits(random)
      if (store.reserve(id)) return id
    }
    throw new Error('no free task id')
  }
}

/** Sixteen: as text only are all of them safe. */
function digits(random: Random): string {
  return `8${String(randomInteger(random, 1_000_000_000_000_000)).padStart(15, '0')}`
}

function ok(body: object): Answer {
  return { status: 200, body }
}

/** The prompt's markers, as far as a body can be read at all. @throws UnknownSwitch */
export function markersOf(body: Fields): PromptMarkers {
  const { prompt } = body
  return parseMarkers(typeof prompt === 'string' ? prompt : '')
}
