import { credentialHash } from '../calls/store.ts'
import type { FamilyKit } from '../family.ts'
import { parseMarkers, type PromptMarkers } from '../faults/marker.ts'
import { countOf, type Faults, isOn } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import type { Fields } from '../kit/body.ts'
import { randomHex, randomInteger } from '../kit/random.ts'
import { FamilyTasks, type FoundTask } from '../tasks/family-tasks.ts'
import { type Site, taskBody, taskOf } from './body.ts'
import { notFound, Refusal } from './errors.ts'
import { parseRequest } from './parse.ts'
import { detailOf, planOf, usageOf } from './plan.ts'

/** The family's name in records, counters and fault rules. */
export const FAMILY = 'video-b'

const MAX_PAGE = 100

/** The operations of this wire, each for one account; they throw Refusal for what they refuse. */
export class VideoService {
  readonly #kit: FamilyKit
  readonly #tasks: FamilyTasks

  constructor(kit: FamilyKit) {
    this.#kit = kit
    this.#tasks = new FamilyTasks(kit, FAMILY)
  }

  /** Accepts a task: answered only once it is durable, and its receiver knows of it. */
  async create(body: Fields, credential: string, faults: Faults): Promise<Answer> {
    const { options, random, clock, callbacks } = this.#kit
    const request = parseRequest(body)
    const { callbackUrl } = request
    if (callbackUrl !== null && !(await callbacks.challenge(callbackUrl, randomHex(random, 32))))
      throw new Refusal('2013', 'invalid params, callback_url does not give the challenge back')
    const id = this.#newId()
    const record = await this.#tasks.accept({
      id,
      acceptedAtMs: clock.nowMs(),
      model: request.model,
      requestedModel: request.model,
      safetyIdentifier: null,
      clientMarker: parseMarkers(request.prompt).clientMarker,
      credential: credentialHash(credential),
      plan: planOf(request, faults, options),
      ...usageOf(request, faults),
      detail: { ...detailOf(request, id) },
    })
    return ok({ task_id: record.id })
  }

  get(id: string, credential: string): Answer {
    const found = this.#find(id, credential)
    if (found === null) return notFound(this.#kit.random)
    const answer = ok(taskBody(...found, this.#site()))
    this.#tasks.told(found)
    return answer
  }

  /** Everything an account has made, newest first. @throws Refusal */
  list(query: URLSearchParams, credential: string, faults: Faults): Answer {
    const number = numberIn(query, 'page_num', 1, 100_000)
    const asked = numberIn(query, 'page_size', 20, MAX_PAGE)
    const size = Math.min(asked, countOf(faults, 'page-cap') ?? asked)
    const { store, clock } = this.#kit
    const nowMs = clock.nowMs()
    const account = credentialHash(credential)
    const all = (isOn(faults, 'empty-list') ? [] : store.all())
      .filter(({ record }) => record.family === FAMILY && record.credential === account)
      .map((task) => [task, store.stateOf(task, nowMs)] as const)
      .filter(([, state]) => state.visible)
      .reverse()
    const page = all.slice((number - 1) * size, number * size)
    const tasks = page.map(([task, state]) => taskOf(task, state, this.#site()))
    for (const found of page) this.#tasks.told(found)
    return ok({ tasks, total: all.length })
  }

  /** Cancels what is queued, deletes what has ended, refuses the rest. @throws Refusal */
  async remove(id: string, credential: string): Promise<Answer> {
    const { store, clock, random } = this.#kit
    const found = this.#find(id, credential)
    if (found === null) return notFound(random)
    const [, { phase }] = found
    if (phase === 'running' || phase === 'cancelled')
      throw new Refusal('2013', `invalid params, a ${phase} task cannot be deleted`)
    const nowMs = clock.nowMs()
    const queued = phase === 'queued'
    await store.mark(id, queued ? { cancelledAtMs: nowMs } : { deletedAtMs: nowMs })
    return ok({
      task_id: id,
      action: queued ? 'cancelled' : 'deleted',
      status: queued ? 'cancelled' : phase,
    })
  }

  /** Where result URLs point. */
  #site(): Site {
    const { baseUrl, options, clock } = this.#kit
    return { baseUrl: baseUrl(), urlSeconds: options.urlSeconds, nowMs: clock.nowMs() }
  }

  #find(id: string, credential: string): FoundTask | null {
    return this.#tasks.find(id, credentialHash(credential))
  }

  #newId(): string {
    const number = (): number => randomInteger(this.#kit.random, 100_000_000_000_000)
    return this.#tasks.freshId(() => `4${String(number()).padStart(14, '0')}`)
  }
}

function numberIn(query: URLSearchParams, name: string, absent: number, max: number): number {
  const text = query.get(name)
  if (text === null || text === '') return absent
  if (!/^[1-9]\d{0,5}$/.test(text) || Number(text) > max)
    throw new Refusal('2013', `invalid params, ${name} must be from 1 to ${max}`)
  return Number(text)
}

function ok(body: object): Answer {
  return { status: 200, body }
}

/** The prompt's markers, as far as a body can be read at all. @throws UnknownSwitch */
export function markersOf({ content }: Fields): PromptMarkers {
  const items: readonly unknown[] = Array.isArray(content) ? content : []
  const texts = items.map((item): unknown => Reflect.get(Object(item), 'text'))
  return parseMarkers(texts.filter((text) => typeof text === 'string').join('\n'))
}
