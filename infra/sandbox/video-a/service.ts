import { credentialHash } from '../calls/store.ts'
import type { FamilyKit } from '../family.ts'
import { parseMarkers, type PromptMarkers } from '../faults/marker.ts'
import { type Faults, isOn } from '../faults/vocabulary.ts'
import { newRequestId, Refusal } from '../http/dotted-errors.ts'
import type { Answer } from '../http/exchange.ts'
import type { Fields } from '../kit/body.ts'
import { randomBase36 } from '../kit/random.ts'
import { FamilyTasks, type FoundTask } from '../tasks/family-tasks.ts'
import { checkAssets } from './assets.ts'
import { type Site, taskBody } from './body.ts'
import { listTasks } from './list.ts'
import { parseRequest } from './parse.ts'
import { detailOf, planOf, usageOf } from './plan.ts'

/** The family's name in records, counters and fault rules. */
export const FAMILY = 'video-a'

/** The four operations of this wire; each throws Refusal for what it refuses. */
export class VideoService {
  readonly #kit: FamilyKit
  readonly #tasks: FamilyTasks

  constructor(kit: FamilyKit) {
    this.#kit = kit
    this.#tasks = new FamilyTasks(kit, FAMILY)
  }

  /** Accepts a task: answered only once it is durable. */
  async create(body: Fields, credential: string, faults: Faults): Promise<Answer> {
    const { options, random, clock } = this.#kit
    const request = parseRequest(body, options)
    checkAssets(this.#kit, request)
    const nowMs = clock.nowMs()
    const detail = detailOf(request, random, newRequestId(random, nowMs))
    const record = await this.#tasks.accept({
      id: this.#newId(nowMs),
      acceptedAtMs: nowMs,
      model: request.model,
      requestedModel: request.requestedModel,
      safetyIdentifier: request.safetyIdentifier,
      clientMarker: parseMarkers(request.content.prompt).clientMarker,
      credential: credentialHash(credential),
      plan: planOf(request, faults, options),
      ...usageOf(request, detail, faults),
      detail: { ...detail },
    })
    return this.#ok({ id: record.id })
  }

  get(id: string): Answer {
    const found = this.#find(id)
    const body = taskBody(...found, this.#site())
    this.#tasks.told(found)
    return this.#ok(body)
  }

  list(query: URLSearchParams, faults: Faults): Answer {
    const page = listTasks(this.#kit, FAMILY, query, faults)
    const site = this.#site()
    const items = page.items.map((found) => {
      const body = taskBody(...found, site)
      this.#tasks.told(found)
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

  #find(id: string): FoundTask {
    const found = this.#tasks.find(id)
    if (found === null)
      throw new Refusal('NotFound.Task', `The task \`${id.slice(0, 100)}\` is not found.`)
    return found
  }

  #newId(nowMs: number): string {
    const stamp = new Date(nowMs).toISOString().slice(0, 19).replace(/[-:T]/g, '')
    return this.#tasks.freshId(() => `cgt-${stamp}-${randomBase36(this.#kit.random, 5)}`)
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
