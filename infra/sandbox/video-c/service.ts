import { credentialHash } from '../calls/store.ts'
import type { FamilyKit } from '../family.ts'
import { parseMarkers, type PromptMarkers } from '../faults/marker.ts'
import { type Faults, isOn } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import type { Fields } from '../kit/body.ts'
import { type Random, randomInteger } from '../kit/random.ts'
import { FamilyTasks, type FoundTask } from '../tasks/family-tasks.ts'
import { settingsBody, type Site, stateOf, taskBody } from './body.ts'
import { Refusal } from './errors.ts'
import { listTasks } from './list.ts'
import { type Mode, parseRequest } from './parse.ts'
import { detailOf, planOf, usageOf, type VideoDetail } from './plan.ts'

/** The family's name in records, counters and fault rules. */
export const FAMILY = 'video-c'

/** What every account begins with. */
const CREDITS = 1_000_000_000

/** The operations of this wire; each throws Refusal for what it refuses. */
export class VideoService {
  readonly #kit: FamilyKit
  readonly #tasks: FamilyTasks

  constructor(kit: FamilyKit) {
    this.#kit = kit
    this.#tasks = new FamilyTasks(kit, FAMILY)
  }

  /** Accepts a task: answered only once it is durable. */
  async create(mode: Mode, body: Fields, credential: string, faults: Faults): Promise<Answer> {
    const { options, random, clock } = this.#kit
    const request = parseRequest(mode, body)
    const detail = detailOf(request, faults, random, digits(random))
    const record = await this.#tasks.accept({
      id: this.#tasks.freshId(() => digits(random)),
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
    const found = this.#find(id)
    const body = taskBody(...found, this.#site(), this.#kit.clock.nowMs())
    this.#tasks.told(found)
    return ok(body)
  }

  list(query: URLSearchParams, faults: Faults): Answer {
    const { items, hasMore } = listTasks(this.#kit, FAMILY, query, faults)
    const nowMs = this.#kit.clock.nowMs()
    const tasks = items.map((found) => {
      const shown = taskBody(...found, this.#site(), nowMs)
      this.#tasks.told(found)
      return {
        ...shown,
        ...settingsBody(found[0].record),
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

  #find(id: string): FoundTask {
    const found = this.#tasks.find(id)
    if (found === null) throw new Refusal('TaskNotFound')
    return found
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
